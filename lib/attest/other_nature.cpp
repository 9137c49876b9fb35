#include "lib/attest/other_nature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "lib/container/pickle/read/probe.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

constexpr auto pickles = std::to_array<std::string_view>({"pickle", "torch_legacy", "torch_dcp"});
constexpr auto zips = std::to_array<std::string_view>({"torch_zip", "npz", "keras"});
/// Others may well end with a tensor that holds an archive.
constexpr auto never_end_with_zip = std::to_array<std::string_view>(
    {text_format, picture_format, record_format, "json", "msgpack", "npy", "hdf5", "torch_tar"});

template <typename Names>
bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Could a module be called so? Lines of prose, which may well begin with the opcode's letter, could not.
bool is_module_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || static_cast<unsigned char>(c) >= 0x80;
  });
}

/// One line alone cannot name both module and class.
bool has_second_line(const Source& source, std::uint64_t from) {
  constexpr std::uint64_t longest = 4096;
  const Bytes bytes = source.read({from, std::min(source.size() - from, longest)});
  const std::string_view text = as_text(bytes);
  const std::size_t end = text.find('\n');
  return end == text.npos ? bytes.size() == longest : end + 1 < source.size() - from;
}

std::string as_pickle(const Source& source, std::string_view format) {
  const PickleProbe probe = probe_pickle(source);
  switch (probe.end) {
    case ProbeEnd::fails:
      return {};
    case ProbeEnd::imports:
      if (format == text_format && !(is_module_name(probe.module) && has_second_line(source, probe.offset))) return {};
      return fmt::format("is a pickle, too: pickle.load comes to an import at offset {}{}{}", probe.offset,
                         probe.module.empty() ? "" : ", of ", probe.module);
    case ProbeEnd::differs:
      return fmt::format("is a pickle, too: at offset {} loaders read on differently", probe.offset);
    case ProbeEnd::goes_on:
      return fmt::format("could be a pickle, too: its opcodes go on beyond offset {}", probe.offset);
  }
  return {};
}

/// As Python's tarfile sees it, which torch.load asks first: the checksum of the first block alone.
bool is_tar(const Source& source) {
  constexpr std::size_t block = 512, at = 148, size = 8;
  if (source.size() < block) return false;
  const Bytes header = source.read({0, block});
  std::string_view digits = as_text(header).substr(at, size);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  long stored = 0;
  constexpr int octal = 8;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), stored, octal).ec != std::errc()) return false;
  long sum = 0;
  long signed_sum = 0;
  for (std::size_t i = 0; i < block; ++i) {
    const char byte = i >= at && i < at + size ? ' ' : static_cast<char>(header[i]);
    sum += static_cast<unsigned char>(byte);
    signed_sum += static_cast<signed char>(byte);
  }
  return stored == sum || stored == signed_sum;
}

/// A directory that ends where the file does, or before a comment.
bool ends_with_zip(const Source& source) {
  constexpr std::uint64_t searched = 65535 + zip::end_size;
  const std::uint64_t size = std::min(source.size(), searched);
  const Bytes tail = source.read({source.size() - size, size});
  for (std::size_t at = 0; at + zip::end_size <= tail.size(); ++at) {
    if (load_le<std::uint32_t>(tail.data() + at) != zip::end_signature) continue;
    const std::size_t comment = load_le<std::uint16_t>(tail.data() + at + 20);
    if (at + zip::end_size + comment == tail.size()) return true;
  }
  return false;
}

}  // namespace

std::string other_nature(const Source& source, std::string_view format) {
  if (!holds(pickles, format)) {
    if (std::string pickle = as_pickle(source, format); !pickle.empty()) return pickle;
  }
  if (format != "torch_tar" && is_tar(source)) return "is a tar archive, too";
  if (holds(zips, format)) return {};
  return holds(never_end_with_zip, format) && ends_with_zip(source) ? "ends with a zip archive" : "";
}

}  // namespace tare
