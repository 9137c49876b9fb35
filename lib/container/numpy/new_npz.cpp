// Format: numpy.lib.format, version 1.0, as numpy.savez writes it.
#include "lib/container/numpy/new_npz.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/container/type_spelling.hpp"
#include "lib/container/zip/new_zip.hpp"

namespace tare {
namespace {

constexpr auto descriptions = std::to_array<TypeSpelling>({
    {"float32", "<f4"},
    {"float64", "<f8"},
    {"int32", "<i4"},
    {"int64", "<i8"},
});

Bytes npy(const DocumentTensor& tensor) {
  constexpr std::string_view magic("\x93NUMPY\x01\x00", 8);
  constexpr std::size_t alignment = 64;
  const std::string shape = fmt::format("{}{}", fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   spelled(descriptions, tensor.type), shape);
  const std::size_t before = magic.size() + sizeof(std::uint16_t) + header.size() + 1;
  header.append((alignment - before % alignment) % alignment, ' ').push_back('\n');
  Bytes file;
  const auto add = [&](ByteView bytes) { std::copy(bytes.begin(), bytes.end(), std::back_inserter(file)); };
  add(as_bytes(magic));
  append_le<std::uint16_t>(file, static_cast<std::uint16_t>(header.size()));
  add(as_bytes(header));
  add(tensor.elements);
  return file;
}

void collect(const Document& document, const std::string& name, std::vector<NewMember>& members) {
  if (const auto* tensor = std::get_if<DocumentTensor>(&document.value)) {
    members.push_back({name + ".npy", npy(*tensor)});
    return;
  }
  const auto* map = std::get_if<DocumentMap>(&document.value);
  if (map == nullptr) throw Error(Status::refused, name + ": a numpy archive holds arrays alone");
  const std::string prefix = name.empty() ? name : name + "/";
  for (const auto& [key, value] : *map) collect(value, prefix + key, members);
}

}  // namespace

Bytes new_npz(const Document& document) {
  constexpr std::size_t unaligned = 1;
  std::vector<NewMember> members;
  collect(document, "", members);
  return new_zip(members, unaligned);
}

}  // namespace tare
