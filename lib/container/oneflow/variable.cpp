#include "lib/container/oneflow/variable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

constexpr std::uint64_t longest_meta = 4096;
constexpr std::string_view blanks = " \t\r\n";

struct OneflowType {
  std::string_view name;
  std::string_view type;
};

/// oneflow/core/common/data_type.proto.
constexpr auto oneflow_types = std::to_array<OneflowType>({
    {"kFloat", "float32"},
    {"kDouble", "float64"},
    {"kInt8", "int8"},
    {"kInt32", "int32"},
    {"kInt64", "int64"},
    {"kUInt8", "uint8"},
    {"kFloat16", "float16"},
    {"kBool", "bool"},
    {"kBFloat16", "bfloat16"},
});

[[noreturn]] void fail(const Source& source, const std::string& problem) {
  throw Error(Status::corrupt, fmt::format("{}: {}", source.name(), problem),
              "the file is damaged, or is none of oneflow.save");
}

/// Takes what stands before the next of `ends`.
std::string_view take_word(std::string_view& text, std::string_view ends) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(word.size());
  return word;
}

std::int64_t dimension(const Source& source, std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 0) {
    fail(source, "a dimension that is no number");
  }
  return number;
}

/// "shape { dim: 1 } data_type: kFloat", with any blanks between them.
Tensor described(const Source& source) {
  if (source.size() > longest_meta) fail(source, fmt::format("a description of {} bytes", source.size()));
  const Bytes bytes = source.read({0, source.size()});
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Tensor tensor;
  tensor.library = "tensor";
  while (!text.empty()) {
    const std::string_view name = take_word(text, " \t\r\n:{}");
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n:{}"), text.size()));
    if (name.empty() || name == "shape") continue;
    const std::string_view value = take_word(text, " \t\r\n{}");
    if (name == "dim" && tensor.shape.size() < limits::max_tensor_dimensions) {
      tensor.shape.push_back(dimension(source, value));
    } else if (name == "data_type") {
      const auto known = std::ranges::find(oneflow_types, value, &OneflowType::name);
      if (known != oneflow_types.end()) tensor.type = element_type(known->type);
    } else {
      fail(source, "a description that tare does not know");
    }
  }
  if (tensor.type.size == 0) fail(source, "a type that tare does not know");
  return tensor;
}

}  // namespace

std::string oneflow_elements_of(const std::string& folder) {
  return folder + "/out";
}

std::string oneflow_description_of(const std::string& folder) {
  return folder + "/meta";
}

FileVariable read_oneflow_variable(const SourceFolder& checkpoint, const std::string& folder) {
  FileVariable variable{checkpoint.open(oneflow_elements_of(folder)),
                        described(*checkpoint.open(oneflow_description_of(folder))),
                        {},
                        "",
                        0};
  const Tensor& tensor = variable.tensor;
  const std::uint64_t size = variable.source->size();
  if (size % tensor.type.size != 0 || size / tensor.type.size != tensor.count()) {
    fail(*variable.source, fmt::format("{} bytes are not what {} takes", size, tensor.type_text()));
  }
  variable.elements = {0, size};
  return variable;
}

}  // namespace tare
