#include "lib/attest/other_nature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/attest/tar_checksum.hpp"
#include "lib/attest/zip_at_end.hpp"
#include "lib/base/holds.hpp"
#include "lib/base/text.hpp"
#include "lib/container/hdf5/hdf5.hpp"
#include "lib/container/pickle/read/opcode.hpp"

namespace tare {
namespace {

constexpr auto pickles = std::to_array<std::string_view>({"pickle", "torch_legacy", "torch_dcp"});
/// Which may well begin with the opcode of an import: words, numbers.
constexpr auto of_any_bytes = std::to_array<std::string_view>({text_format, elements_format});
constexpr auto zips = std::to_array<std::string_view>({zip_format, "torch_zip", "npz", "keras"});
/// Of which some parts are archives, one behind the other.
constexpr auto may_end_with_zip = std::to_array<std::string_view>({parts_format});
/// In which not even an empty archive stands at the end; in others that could be chance.
constexpr auto never_end_with_zip = std::to_array<std::string_view>(
    {text_format, picture_format, record_format, "json", "msgpack", "npy", "hdf5", "torch_tar"});

/// Could a module be called so? Lines of prose, which may well begin with the opcode's letter, and numbers could not.
bool is_module_name(std::string_view name) {
  return !name.empty() && is_utf8(name) && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
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

/// Of the first import; empty where it is not known.
std::string_view first_module(const PickleProbe& probe) {
  const bool is_known = !probe.globals.empty() && probe.globals.front().offset == probe.offset;
  return is_known ? std::string_view(probe.globals.front().module) : std::string_view();
}

/// Whether an import is only a line that begins with its letter. Nothing that people write puts two texts on the stack
/// and comes to STACK_GLOBAL, which needs no line.
bool is_prose(const Source& source, const PickleProbe& probe) {
  if (probe.end != ProbeEnd::imports) return false;
  const Bytes opcode = source.read({probe.offset, 1});
  if (opcode.front() == static_cast<std::byte>(Opcode::stack_global)) return false;
  return !is_module_name(first_module(probe)) || !has_second_line(source, probe.offset);
}

Doubt as_pickle(const Source& source, std::string_view format) {
  PickleProbe probe = probe_pickle(source);
  if (probe.end == ProbeEnd::fails || (holds(of_any_bytes, format) && is_prose(source, probe))) return {};
  return {"is a pickle, too: " + words_of(probe), std::move(probe.globals), probe.calls, probe.unnamed.has_value()};
}

bool ends_with_zip(const Source& source, std::string_view format) {
  if (holds(zips, format) || holds(may_end_with_zip, format)) return false;
  const ZipEnding ending = zip_ending(source);
  return ending.is_directory || (ending.is_record && holds(never_end_with_zip, format));
}

}  // namespace

std::string words_of(const PickleProbe& probe) {
  std::string words;
  if (probe.end == ProbeEnd::imports) {
    const std::string_view module = first_module(probe);
    words = fmt::format("pickle.load comes to an import at offset {}{}{}", probe.offset, module.empty() ? "" : ", of ",
                        module);
  } else if (probe.end == ProbeEnd::differs) {
    words = fmt::format("at offset {} loaders read on differently", probe.offset);
  } else {
    words = fmt::format("its opcodes go on beyond offset {}", probe.offset);
  }
  if (probe.unnamed) words += fmt::format("; what it imports at offset {} only running it would tell", *probe.unnamed);
  return words;
}

Doubt other_nature(const Source& source, std::string_view format) {
  if (!holds(pickles, format)) {
    if (Doubt pickle = as_pickle(source, format); !pickle.why.empty()) return pickle;
  }
  if (format != "torch_tar" && begins_as_tar(source)) return {"is a tar archive, too", {}, 0};
  if (format != "hdf5" && hdf5_superblock_offset(source).value_or(0) > 0) return {"is HDF5, too", {}, 0};
  if (ends_with_zip(source, format)) return {"ends with a zip archive", {}, 0};
  return {};
}

}  // namespace tare
