#include "lib/container/safetensors/mindspore_checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/preview.hpp"
#include "lib/tree/value.hpp"

namespace tare {
namespace {

constexpr std::string_view checksum_key = "crc_num";
/// Of larger images the checksum is not computed: that would read every tensor.
constexpr std::uint64_t most_read = limits::max_tensor_read_bytes;

/// What one tensor adds behind its name.
struct SummedPart {
  const SafetensorsEntry* entry;
  std::string_view name;
  bool is_count;  ///< zero bytes, as many as the number says
  std::uint64_t size;
};

bool is_count(const SafetensorsEntry& entry) {
  return entry.shape.count == 0 && (entry.type().name.starts_with("int") || entry.type().name.starts_with("uint"));
}

/// In the order of names. Nothing where a number says that there are fewer than no bytes, or more than can be counted.
std::optional<std::vector<SummedPart>> parts_of(const Source& image, const SafetensorsHeader& header) {
  std::vector<SummedPart> parts;
  parts.reserve(header.entries.size());
  for (const SafetensorsEntry& entry : header.entries) {
    SummedPart part{&entry, header.name(entry), is_count(entry), entry.place.size};
    if (part.is_count) {
      const Bytes element = image.read(entry.place);
      if (element.size() != entry.type().size) return std::nullopt;
      const Value value = element_value(entry.type(), element.data());
      const double count = value.as_double();
      if (count < 0 || count > 0x1p53) return std::nullopt;
      part.size = static_cast<std::uint64_t>(count);
    }
    parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end(), [](const SummedPart& a, const SummedPart& b) { return a.name < b.name; });
  return parts;
}

std::optional<std::uint32_t> computed(const Source& image, const SafetensorsHeader& header) {
  const auto parts = parts_of(image, header);
  if (!parts) return std::nullopt;
  std::uint32_t crc = 0;
  for (const SummedPart& part : *parts) {
    crc = crc32_joined(crc, crc32(as_bytes(part.name)), part.name.size());
    const std::uint32_t own = part.is_count ? crc32_of_zeros(part.size) : crc32(image.read(part.entry->place));
    crc = crc32_joined(crc, own, part.size);
  }
  return crc;
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void throw_damaged(const Source& image) {
  throw Error(Status::corrupt,
              fmt::format("{}: its checksum ({}) is not that of its tensors", image.name(), checksum_key),
              "an edit would hide the damage: take another copy");
}

/// By algebra, from the old one: nothing but the numbers that count bytes is read.
std::uint32_t followed(const Source& image, const SafetensorsHeader& header, std::uint32_t crc,
                       std::span<const Patch> patches) {
  const auto parts = parts_of(image, header);
  if (!parts) throw_damaged(image);
  for (const Patch& patch : patches) {
    std::uint64_t behind = 0;
    for (std::size_t i = parts->size(); i-- > 0;) {
      const SummedPart& part = (*parts)[i];
      const Span place = part.entry->place;
      if (patch.offset < place.offset || patch.offset >= place.end()) {
        behind += part.size + part.name.size();
        continue;
      }
      if (part.is_count) {
        throw Error(Status::refused,
                    fmt::format("{}: the checksum of the file takes {} zero bytes for {}, and cannot be made to take "
                                "another number of them without reading {} bytes of tensors",
                                patch.meaning, part.size, part.name, header.data.size),
                    "load and save it with MindSpore, without crc_check, and edit that");
      }
      behind += place.end() - patch.offset - patch.before.size();
      break;
    }
    crc = crc32_patched(crc, patch.before, patch.after, behind);
  }
  return crc;
}

/// The digits in their place: with zeros in front where there are fewer, with spaces taken from the header's end where
/// there are more.
Patch with_checksum(const Source& image, const SafetensorsHeader& header, std::string_view before,
                    const std::string& after) {
  constexpr std::uint64_t length_size = 8;
  const Bytes bytes = image.read({length_size, header.data.offset - length_size});
  const std::string_view text = as_text(bytes);
  const std::string spelled = fmt::format("\"{}\":\"{}\"", checksum_key, before);
  const std::size_t at = text.find(spelled);
  const std::size_t digits = at + spelled.size() - 1 - before.size();
  const std::size_t more = after.size() - std::min(after.size(), before.size());
  const std::string_view tail = text.substr(std::min(text.size(), digits + before.size()));
  if (at == text.npos || text.find(spelled, at + 1) != text.npos || !tail.ends_with(std::string(more, ' '))) {
    throw Error(
        Status::refused,
        fmt::format("{}: its header has no room for the checksum {} in the place of {}", image.name(), after, before),
        "another value may lead to a checksum that fits; or load and save it with MindSpore");
  }
  const std::size_t size = before.size() + (more > 0 ? tail.size() : 0);
  std::string changed = std::string(before.size() - std::min(before.size(), after.size()), '0') + after;
  if (more > 0) changed += tail.substr(0, tail.size() - more);
  const ByteView run = ByteView(bytes).subspan(digits, size);
  const ByteView new_run = as_bytes(changed);
  return {length_size + digits, SharedBytes::copy_of(run), SharedBytes::copy_of(new_run), "CRC-32 in the header"};
}

}  // namespace

std::string_view mindspore_checksum(const SafetensorsHeader& header) {
  for (const auto& [name, value] : header.metadata) {
    if (name == checksum_key) return value;
  }
  return {};
}

bool mindspore_checksum_holds(const Source& image, const SafetensorsHeader& header) {
  if (header.data.size > most_read) return true;
  const auto stored = number_of(mindspore_checksum(header));
  return stored && stored == computed(image, header);
}

Patch mindspore_checksum_patch(const std::shared_ptr<const Source>& image, const SafetensorsHeader& header,
                               std::span<const Patch> patches) {
  const std::string_view before = mindspore_checksum(header);
  const auto old_crc = number_of(before);
  if (!old_crc || !mindspore_checksum_holds(*image, header)) throw_damaged(*image);
  if (header.data.size > most_read) {
    return with_checksum(*image, header, before, std::to_string(followed(*image, header, *old_crc, patches)));
  }
  FileChange change;
  change.patches.assign(patches.begin(), patches.end());
  const auto crc = computed(PreviewSource(image, change), header);
  if (!crc) {
    throw Error(Status::refused, fmt::format("{}: MindSpore cannot save a checksum of that value", image->name()),
                "its rule takes as many zero bytes as an integer says: it must not be negative");
  }
  return with_checksum(*image, header, before, std::to_string(*crc));
}

}  // namespace tare
