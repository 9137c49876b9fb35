// miniz, which torch uses, takes the last end record that has room for its 22 bytes, and believes a zip64 record where
// a locator stands before it. Python's zipfile looks in other places for the same records. Where the two would read
// different directories the file is refused: nobody could say what it holds.
#include "lib/container/zip/end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

constexpr const char* cut_hint = "the file is cut short or damaged; take another copy";

/// The last bytes of a source, read at once: end records, and in most files the directory as well.
class Tail {
 public:
  Tail(const Source& source, std::uint64_t size)
      : source_(&source), offset_(source.size() - size), bytes_(source.read({source.size() - size, size})) {}

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] ByteView bytes() const { return bytes_; }
  /// REQUIRES: inside the file.
  [[nodiscard]] Bytes read(Span range) const {
    if (range.offset < offset_) return source_->read(range);
    const ByteView found = ByteView(bytes_).subspan(range.offset - offset_, range.size);
    return {found.begin(), found.end()};
  }

 private:
  const Source* source_;
  std::uint64_t offset_;
  Bytes bytes_;
};

class EndReader {
 public:
  explicit EndReader(const Source& source)
      : source_(source), tail_(source, std::min<std::uint64_t>(source.size(), first_window)) {}

  ZipEnd read() {
    ZipEnd end = find();
    end.directory_bytes = tail_.read(end.directory);
    return end;
  }

  ZipEnd find() {
    if (!find_end() && source_.size() > first_window) {
      tail_ = Tail(source_, std::min<std::uint64_t>(source_.size(), window));
      find_end();
    }
    if (end_ == no_place) fail(fmt::format("no end record in the last {} bytes", std::min(source_.size(), searched)));
    ZipEnd end;
    const Bytes record = tail_.read({end_, zip::end_size});
    read_end(record, end);
    read_locator(record, end);
    check(end);
    read_behind(load_le<std::uint16_t>(record.data() + 20), end);
    return end;
  }

 private:
  static constexpr std::uint64_t searched = limits::max_end_record_distance + zip::end_size;
  static constexpr std::uint64_t window = searched + zip::locator_size + zip::end64_size;
  /// Enough where nothing stands behind the archive, and for all of a small one.
  static constexpr std::uint64_t first_window = 16 << 10;
  static constexpr std::uint64_t no_place = ~std::uint64_t{0};

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: zip: {}", source_.name(), problem), cut_hint);
  }

  bool find_end() {
    const ByteView bytes = tail_.bytes();
    for (std::size_t back = zip::end_size; back <= std::min<std::uint64_t>(bytes.size(), searched); ++back) {
      const std::size_t at = bytes.size() - back;
      if (load_le<std::uint32_t>(bytes.data() + at) != zip::end_signature) continue;
      end_ = tail_.offset() + at;
      directory_end_ = end_;
      return true;
    }
    return false;
  }

  void read_end(const Bytes& record, ZipEnd& end) {
    const auto disk = load_le<std::uint16_t>(record.data() + 4);
    const auto directory_disk = load_le<std::uint16_t>(record.data() + 6);
    const auto count_here = load_le<std::uint16_t>(record.data() + 8);
    end.count = load_le<std::uint16_t>(record.data() + 10);
    end.directory = {load_le<std::uint32_t>(record.data() + 16), load_le<std::uint32_t>(record.data() + 12)};
    if (disk != directory_disk || disk > 1 || count_here != end.count) {
      fail(fmt::format("end record at offset {}: an archive in several parts", end_));
    }
  }

  void read_locator(const Bytes& record, ZipEnd& end) {
    if (end_ < zip::locator_size) return;
    const std::uint64_t at = end_ - zip::locator_size;
    const Bytes locator = tail_.read({at, zip::locator_size});
    if (load_le<std::uint32_t>(locator.data()) != zip::locator_signature) return;
    const auto place = load_le<std::uint64_t>(locator.data() + 8);
    if (place > at || at - place < zip::end64_size) {
      fail(fmt::format("the zip64 locator at offset {} points to {}", at, place));
    }
    const Bytes end64 = tail_.read({place, zip::end64_size});
    if (!is_end64(end64, at - place)) {
      refuse_several(at);
      fail(fmt::format("no zip64 end record at offset {}, where the locator at {} points", place, at));
    }
    directory_end_ = place;
    read_end64(end64, place, end);
    const ZipEnd wide = end;
    read_end(record, end);
    const bool agrees = (end.count == zip::full16 || end.count == wide.count) &&
                        (end.directory.size == zip::full32 || end.directory.size == wide.directory.size) &&
                        (end.directory.offset == zip::full32 || end.directory.offset == wide.directory.offset);
    if (!agrees) fail(fmt::format("the end record at offset {} and the zip64 one at {} differ", end_, place));
    end = wide;
  }

  [[nodiscard]] static bool is_end64(const Bytes& record, std::uint64_t size) {
    return load_le<std::uint32_t>(record.data()) == zip::end64_signature &&
           load_le<std::uint64_t>(record.data() + 4) == size - 12;
  }

  /// Archives one after the other count their offsets each from its own start.
  void refuse_several(std::uint64_t locator) const {
    const std::uint64_t place = locator - zip::end64_size;
    if (!is_end64(tail_.read({place, zip::end64_size}), zip::end64_size)) return;
    throw Error(Status::unsupported,
                fmt::format("{}: zip archives one after the other, as torch.distributed.checkpoint writes them",
                            source_.name()),
                "give the folder of the .distcp files instead");
  }

  void read_end64(const Bytes& record, std::uint64_t place, ZipEnd& end) const {
    const auto disk = load_le<std::uint32_t>(record.data() + 16);
    const auto directory_disk = load_le<std::uint32_t>(record.data() + 20);
    const auto count_here = load_le<std::uint64_t>(record.data() + 24);
    end.count = load_le<std::uint64_t>(record.data() + 32);
    end.directory = {load_le<std::uint64_t>(record.data() + 48), load_le<std::uint64_t>(record.data() + 40)};
    if (disk != directory_disk || disk > 1 || count_here != end.count) {
      fail(fmt::format("zip64 end record at offset {}: an archive in several parts", place));
    }
  }

  void check(const ZipEnd& end) const {
    const auto [offset, size] = end.directory;
    if (offset > directory_end_ || size != directory_end_ - offset) {
      fail(fmt::format("a directory of {} bytes at offset {} does not end at {}, where its end record stands", size,
                       offset, directory_end_));
    }
    if (end.count > size / zip::row_size) {
      fail(fmt::format("the end record counts {} entries in a directory of {} bytes", end.count, size));
    }
    if (end.count > limits::max_zip_entries || size > limits::max_zip_directory_bytes) {
      throw Error(
          Status::refused,
          fmt::format("{}: zip: a directory of {} entries and {} bytes; the limits are {} and {}", source_.name(),
                      end.count, size, limits::max_zip_entries, limits::max_zip_directory_bytes));
    }
  }

  void read_behind(std::uint64_t comment_size, ZipEnd& end) const {
    const std::uint64_t behind = source_.size() - end_ - zip::end_size;
    if (comment_size > behind) {
      fail(fmt::format("the comment of {} bytes passes the end of the file", comment_size));
    }
    end.comment = tail_.read({end_ + zip::end_size, comment_size});
    if (comment_size == behind) return;
    end.findings.push_back({Severity::warning,
                            "trailing-bytes",
                            fmt::format("{} bytes stand behind the end of the archive", behind - comment_size),
                            {},
                            {}});
  }

  const Source& source_;
  Tail tail_;
  std::uint64_t end_ = no_place;     ///< where the end record stands
  std::uint64_t directory_end_ = 0;  ///< where the first of the end records stands
};

}  // namespace

ZipEnd read_zip_end(const Source& source) {
  return EndReader(source).read();
}

ZipEnd find_zip_end(const Source& source) {
  return EndReader(source).find();
}

}  // namespace tare
