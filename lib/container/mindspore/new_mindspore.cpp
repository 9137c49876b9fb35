// Layout: mindspore's Checkpoint proto (mindspore/ccsrc/utils/checkpoint.proto): value = 1 { tag = 1, tensor = 2 { dims
// = 1, tensor_type = 2, tensor_content = 3 } }. A parameter without dimensions has no dims, as releases from 2.1 on
// write it.
#include "lib/container/mindspore/new_mindspore.hpp"

#include <array>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/container/type_spelling.hpp"
#include "lib/container/varint.hpp"

namespace tare {
namespace {

constexpr auto mindspore_types = std::to_array<TypeSpelling>({
    {"float32", "Float32"},
    {"int32", "Int32"},
    {"int64", "Int64"},
});

void append_run(Bytes& to, std::uint64_t field, ByteView contents) {
  constexpr std::uint64_t length_delimited = 2;
  append_varint(to, field << 3 | length_delimited);
  append_varint(to, contents.size());
  to.insert(to.end(), contents.begin(), contents.end());
}

Bytes tensor_message(const DocumentTensor& tensor) {
  Bytes message;
  for (const std::int64_t size : tensor.shape) {
    append_varint(message, 1 << 3);
    append_varint(message, static_cast<std::uint64_t>(size));
  }
  append_run(message, 2, as_bytes(spelled(mindspore_types, tensor.type)));
  append_run(message, 3, tensor.elements);
  return message;
}

}  // namespace

Bytes new_mindspore(const Document& document) {
  const auto* parameters = std::get_if<DocumentMap>(&document.value);
  if (parameters == nullptr) throw Error(Status::refused, "a MindSpore checkpoint holds named parameters");
  Bytes file;
  for (const auto& [name, value] : *parameters) {
    const auto* tensor = std::get_if<DocumentTensor>(&value.value);
    if (tensor == nullptr) throw Error(Status::refused, name + ": a MindSpore checkpoint holds tensors alone");
    Bytes record;
    append_run(record, 1, as_bytes(name));
    append_run(record, 2, tensor_message(*tensor));
    append_run(file, 1, record);
  }
  return file;
}

}  // namespace tare
