#include "lib/container/zip/hidden.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

constexpr std::size_t most_told = 8;

/// Sizes, dates, owners, and torch's padding.
constexpr auto known_extras =
    std::to_array<std::uint16_t>({zip::extra_zip64, zip::extra_padding, 0x000a, 0x5455, 0x5855, 0x7855, 0x7875});

class Search {
 public:
  explicit Search(const ZipArchive& archive) : archive_(archive) {}

  std::vector<std::string> run() {
    std::vector<const ZipEntry*> order;
    for (const ZipEntry& entry : archive_.entries()) order.push_back(&entry);
    std::sort(order.begin(), order.end(), [](const ZipEntry* a, const ZipEntry* b) { return a->header < b->header; });
    const std::uint64_t first = order.empty() ? archive_.directory_offset() : order.front()->header;
    if (first > 0) tell(fmt::format("{} bytes stand before its first record", first));
    for (const ZipEntry* entry : order) look_at(*entry);
    if (!archive_.comment().empty()) tell(fmt::format("has a comment of {} bytes", archive_.comment().size()));
    return std::move(told_);
  }

 private:
  void tell(std::string what) {
    if (told_.size() < most_told) told_.push_back("zip: " + std::move(what));
  }

  void look_at(const ZipEntry& entry) {
    const ZipRecord record = archive_.record(entry);
    const std::uint64_t header_end = entry.header + zip::local_size + entry.name.size();
    look_at_extras(entry, archive_.source().read({header_end, record.payload.offset - header_end}));
    const Bytes behind = archive_.source().read({record.payload.end(), std::min(rest_of(entry, record), most_behind)});
    const std::uint64_t descriptor = record.has_descriptor ? descriptor_size(entry, behind) : 0;
    if (record.has_descriptor && descriptor == 0) {
      tell(fmt::format("'{}': what stands behind its data contradicts the directory", entry.name));
    } else if (const std::uint64_t hidden = rest_of(entry, record) - descriptor; hidden > 0) {
      tell(fmt::format("{} bytes at offset {}, behind '{}', are in no record", hidden,
                       record.payload.end() + descriptor, entry.name));
    }
    const bool has_local_crc = !record.has_descriptor || record.local_crc != 0;
    const bool has_local_size = !record.has_descriptor || record.local_stored_size != 0;
    const bool is_crc_other = has_local_crc && record.local_crc != entry.crc;
    const bool is_size_other =
        has_local_size && record.local_stored_size != entry.stored_size && record.local_stored_size != zip::full32;
    if (is_crc_other || is_size_other)
      tell(fmt::format("'{}': its local header contradicts the directory", entry.name));
  }

  static std::uint64_t rest_of(const ZipEntry& entry, const ZipRecord& record) {
    return entry.limit - record.payload.end();
  }

  void look_at_extras(const ZipEntry& entry, ByteView extras) {
    while (extras.size() >= 4) {
      const auto id = load_le<std::uint16_t>(extras.data());
      const std::size_t size = 4u + load_le<std::uint16_t>(extras.data() + 2);
      const bool is_known = std::find(known_extras.begin(), known_extras.end(), id) != known_extras.end();
      if (!is_known || size > extras.size()) break;
      extras = extras.subspan(size);
    }
    if (!extras.empty()) tell(fmt::format("'{}': {} bytes of unknown extra fields", entry.name, extras.size()));
  }

  /// With or without a signature, its sizes of 4 or of 8 bytes; 0 for none that says what the directory says.
  static std::uint64_t descriptor_size(const ZipEntry& entry, ByteView bytes) {
    for (const std::size_t signature : {std::size_t{4}, std::size_t{0}}) {
      for (const std::size_t width : {std::size_t{8}, std::size_t{4}}) {
        const std::size_t size = signature + 4 + 2 * width;
        if (bytes.size() < size) continue;
        if (signature > 0 && load_le<std::uint32_t>(bytes.data()) != zip::descriptor_signature) continue;
        const std::byte* const fields = bytes.data() + signature;
        const auto number = [&](std::size_t at) {
          return width == 8 ? load_le<std::uint64_t>(fields + at) : load_le<std::uint32_t>(fields + at);
        };
        const bool agrees = load_le<std::uint32_t>(fields) == entry.crc && number(4) == entry.stored_size &&
                            number(4 + width) == entry.size;
        if (agrees) return size;
      }
    }
    return 0;
  }

  static constexpr std::uint64_t most_behind = 24;  ///< the longest descriptor

  const ZipArchive& archive_;
  std::vector<std::string> told_;
};

}  // namespace

std::vector<std::string> hidden_in_zip(const ZipArchive& archive) {
  return Search(archive).run();
}

}  // namespace tare
