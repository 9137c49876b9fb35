#include "lib/attest/zip_at_end.hpp"

#include <algorithm>
#include <cstdint>

#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

/// Where fields stand in the records of an end.
constexpr std::size_t end_directory_size = 12, end_directory_at = 16, end_comment = 20, end64_directory_size = 40;

/// The last bytes of a file: as many as Python's zipfile looks at, and the records of zip64 before them.
class ZipTail {
 public:
  explicit ZipTail(const Source& source) : source_(source) {
    constexpr std::uint64_t searched = 65536 + zip::end_size;
    const std::uint64_t size = std::min(source.size(), searched);
    begin_ = source.size() - size;
    bytes_ = source.read({begin_, size});
  }

  [[nodiscard]] ZipEnding ending() const {
    ZipEnding ending;
    for (std::size_t at = 0; at + zip::end_size <= bytes_.size(); ++at) {
      const std::byte* record = bytes_.data() + at;
      if (load_le<std::uint32_t>(record) != zip::end_signature) continue;
      ending.is_record |= at + zip::end_size + load_le<std::uint16_t>(record + end_comment) == bytes_.size();
      ending.is_directory |= has_directory(record, begin_ + at);
    }
    return ending;
  }

 private:
  /// Before the record at `place`, or where it says.
  [[nodiscard]] bool has_directory(const std::byte* record, std::uint64_t place) const {
    const auto size = load_le<std::uint32_t>(record + end_directory_size);
    const auto offset = load_le<std::uint32_t>(record + end_directory_at);
    const std::uint64_t of_zip64 = zip64_before(place);
    return (size <= place && has_row(place - size, place)) || has_row(offset, place) ||
           (of_zip64 <= place && has_row(place - of_zip64, place));
  }

  /// Whether a directory begins there that has room for one row before `end`.
  [[nodiscard]] bool has_row(std::uint64_t at, std::uint64_t end) const {
    return at <= end && end - at >= zip::row_size && number_at(at) == zip::row_signature;
  }

  /// How much the directory of a zip64 record before the record at `end` takes, that record with it; 0 without one.
  [[nodiscard]] std::uint64_t zip64_before(std::uint64_t end) const {
    constexpr std::uint64_t records = zip::locator_size + zip::end64_size;
    if (end < records || number_at(end - zip::locator_size) != zip::locator_signature) return 0;
    if (number_at(end - records) != zip::end64_signature) return 0;
    const Bytes size = source_.read({end - records + end64_directory_size, 8});
    return std::min(load_le<std::uint64_t>(size.data()), end) + records;
  }

  [[nodiscard]] std::uint32_t number_at(std::uint64_t at) const {
    const Bytes number = source_.read({at, 4});
    return load_le<std::uint32_t>(number.data());
  }

  const Source& source_;
  std::uint64_t begin_ = 0;
  Bytes bytes_;
};

}  // namespace

ZipEnding zip_ending(const Source& source) {
  return ZipTail(source).ending();
}

}  // namespace tare
