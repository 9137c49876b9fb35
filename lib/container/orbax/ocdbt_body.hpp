// The envelope that every piece of an OCDBT database stands in (its manifest, its B+tree's nodes), and the columns of
// numbers inside. Source: tensorstore's documentation of the format (kvstore/ocdbt, "Storage format").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/budget.hpp"
#include "lib/base/bytes.hpp"

namespace tare {

inline constexpr std::uint32_t ocdbt_manifest_magic = 0x0cdb3a2a;
inline constexpr std::uint32_t ocdbt_node_magic = 0x0cdb20de;

/// What an envelope holds. Throws `corrupt` where it is none of that kind, its length or checksum is wrong, or it holds
/// more than `most` bytes; `unsupported` for one of a later version. `name` is whose it is. Taken from `budget`.
Bytes ocdbt_body(ByteView envelope, std::uint32_t magic, std::uint64_t most, const std::string& name, Budget& budget);
/// An envelope for `body`; of Zstandard's `level`, or plain where there is none.
Bytes ocdbt_envelope(std::uint32_t magic, ByteView body, std::optional<int> level);

/// Reads a body from its front. Every function throws `corrupt` where the body ends before. What it hands out is taken
/// from `budget`.
class OcdbtColumns {
 public:
  OcdbtColumns(ByteView body, const std::string& name, Budget& budget) : body_(body), name_(name), budget_(budget) {}

  struct Number {
    std::uint64_t value = 0;
    Span place;  ///< in the body
  };

  Number number();
  std::uint64_t byte();
  /// As many numbers as there are rows.
  std::vector<Number> column(std::uint64_t rows);
  Span run(std::uint64_t size);
  /// A number of rows, each of which takes a byte at least.
  std::uint64_t rows();
  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] ByteView bytes(Span place) const { return body_.subspan(place.offset, place.size); }
  [[nodiscard]] Budget& budget() const { return budget_; }
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  ByteView body_;
  std::uint64_t at_ = 0;
  const std::string& name_;
  Budget& budget_;
};

/// A data file that a body names.
struct OcdbtFile {
  std::string path;  ///< in the database's folder
  std::string base;  ///< of the paths that a node in that file names
};

/// The table of data files at the front of `columns`. `base`: that of the file that the body itself is in.
std::vector<OcdbtFile> ocdbt_files(OcdbtColumns& columns, const std::string& base);

/// Another run of bytes in place of one of a body.
struct OcdbtSplice {
  Span place;
  Bytes after;
};

/// The body with all of `splices`, which are apart from each other.
Bytes spliced(ByteView body, std::vector<OcdbtSplice> splices);
/// A number in place of another.
OcdbtSplice number_splice(Span place, std::uint64_t value);

}  // namespace tare
