#include "lib/container/zip/hidden.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

constexpr std::size_t most_hidden_told = 8;

/// Sizes, dates, owners, and torch's padding.
constexpr auto known_extras =
    std::to_array<std::uint16_t>({zip::extra_zip64, zip::extra_padding, 0x000a, 0x5455, 0x5855, 0x7855, 0x7875});

class Search {
 public:
  explicit Search(const ZipArchive& archive) : archive_(archive) {}

  HiddenInZip run() {
    look_at_rows(archive_);
    for (const ZipEntry& entry : archive_.entries()) look_at(archive_, entry);
    while (older_.size() < most_older && find_older()) {
    }
    for (const Gap& gap : gaps()) tell_of(gap);
    if (!archive_.comment().empty()) tell(fmt::format("has a comment of {} bytes", archive_.comment().size()));
    return std::move(found_);
  }

 private:
  /// Of the file: a record, or an older directory with its end records.
  struct Piece {
    Span place;
    std::string_view name;
  };
  struct Gap {
    Span place;
    std::string_view behind;  ///< the piece in front of it; empty: none
  };

  void tell(std::string what) {
    if (found_.told.size() < most_hidden_told) found_.told.push_back("zip: " + std::move(what));
  }

  void tell_of(const Gap& gap) {
    if (gap.place.offset == 0) return tell(fmt::format("{} bytes stand before its first record", gap.place.size));
    tell(fmt::format("{} bytes at offset {}, behind '{}', are in no record", gap.place.size, gap.place.offset,
                     gap.behind));
  }

  std::vector<Gap> gaps() {
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.place.offset < b.place.offset; });
    std::vector<Gap> found;
    std::uint64_t at = 0;
    std::string_view behind;
    const auto go_to = [&](std::uint64_t begin) {
      if (begin > at) found.push_back({{at, begin - at}, behind});
    };
    for (const Piece& piece : pieces_) {
      go_to(piece.place.offset);
      if (piece.place.end() < at) continue;
      at = piece.place.end();
      behind = piece.name;
    }
    go_to(archive_.directory_offset());
    return found;
  }

  /// An append starts where the file ended: what it left behind is a whole archive from the file's start.
  bool find_older() {
    const std::vector<Gap> all = gaps();
    return std::any_of(all.rbegin(), all.rend(), [&](const Gap& gap) {
      return tried_.insert(gap.place.end()).second && ends_with_directory(gap.place) && take_older(gap.place);
    });
  }

  [[nodiscard]] bool ends_with_directory(Span gap) const {
    if (gap.size < zip::end_size) return false;
    const Bytes end = archive_.source().read({gap.end() - zip::end_size, zip::end_size});
    return load_le<std::uint32_t>(end.data()) == zip::end_signature && load_le<std::uint16_t>(end.data() + 20) == 0;
  }

  bool take_older(Span gap) {
    const auto& whole = archive_.shared_source();
    try {
      const auto before = std::make_shared<const WindowSource>(whole, Span{0, gap.end()}, whole->name());
      const auto older = std::make_shared<ZipArchive>(before);
      if (older->directory_offset() < gap.offset || !agrees(*older)) return false;
      look_at_rows(*older);
      for (const ZipEntry& entry : older->entries()) {
        if (names_.contains(entry.header)) continue;
        look_at(*older, entry);
        found_.former.push_back({older, &entry});
      }
      const std::uint64_t directory = older->directory_offset();
      pieces_.push_back({{directory, gap.end() - directory}, "an older directory"});
      older_.push_back(older);
      return true;
    } catch (const Error&) {
      if (whole->budget()->is_spent()) throw;
      return false;
    }
  }

  /// Whether it calls the records that both have by the same names.
  [[nodiscard]] bool agrees(const ZipArchive& older) const {
    return std::all_of(older.entries().begin(), older.entries().end(), [&](const ZipEntry& entry) {
      const auto known = names_.find(entry.header);
      return known == names_.end() || known->second == entry.name;
    });
  }

  void look_at_rows(const ZipArchive& archive) {
    for (const ZipEntry& entry : archive.entries()) {
      const ByteView row = archive.directory().subspan(entry.row);
      const std::size_t extra_size = load_le<std::uint16_t>(row.data() + zip::row::extra_size);
      look_at_extras(entry, row.subspan(zip::row_size + entry.name.size(), extra_size));
      const std::size_t comment_size = load_le<std::uint16_t>(row.data() + zip::row::comment_size);
      if (comment_size > 0) tell(fmt::format("'{}': has a comment of {} bytes", entry.name, comment_size));
    }
  }

  void look_at(const ZipArchive& archive, const ZipEntry& entry) {
    const ZipRecord record = archive.record(entry);
    const std::uint64_t header_end = entry.header + zip::local_size + entry.name.size();
    look_at_extras(entry, archive.source().read({header_end, record.payload.offset - header_end}));
    const std::uint64_t rest = entry.limit - record.payload.end();
    const Bytes behind = archive.source().read({record.payload.end(), std::min(rest, most_behind)});
    std::uint64_t descriptor = record.has_descriptor ? descriptor_size(entry, behind) : 0;
    if (record.has_descriptor && descriptor == 0) {
      tell(fmt::format("'{}': what stands behind its data contradicts the directory", entry.name));
      descriptor = rest;
    }
    const bool has_local_crc = !record.has_descriptor || record.local_crc != 0;
    const bool has_local_size = !record.has_descriptor || record.local_stored_size != 0;
    const bool is_crc_other = has_local_crc && record.local_crc != entry.crc;
    const bool is_size_other =
        has_local_size && record.local_stored_size != entry.stored_size && record.local_stored_size != zip::full32;
    if (is_crc_other || is_size_other)
      tell(fmt::format("'{}': its local header contradicts the directory", entry.name));
    pieces_.push_back({{entry.header, record.payload.end() + descriptor - entry.header}, entry.name});
    names_.emplace(entry.header, entry.name);
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

  static constexpr std::size_t most_older = 64;

  const ZipArchive& archive_;
  std::vector<Piece> pieces_;
  std::unordered_map<std::uint64_t, std::string_view> names_;  ///< of the records, by offset
  std::set<std::uint64_t> tried_;                              ///< ends of gaps
  std::vector<std::shared_ptr<const ZipArchive>> older_;
  HiddenInZip found_;
};

}  // namespace

HiddenInZip hidden_in_zip(const ZipArchive& archive) {
  return Search(archive).run();
}

}  // namespace tare
