#include "lib/transaction/journal_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

constexpr std::uint64_t sealed_piece_bytes = 64 * 1024;
constexpr std::uint64_t block_bytes = 512;      // as st_blocks counts them
constexpr std::uint64_t most_compression = 16;  // of a file system, on what journals hold
constexpr std::uint64_t seal_frame_bytes = 48;  // tag, size, digest, CRC-32
constexpr std::uint32_t seal_tag = 5;

/// What claims more than the disk holds of it would cost time for nothing.
bool is_mostly_holes(const struct stat& status) {
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return size > sealed_piece_bytes &&
         static_cast<std::uint64_t>(status.st_blocks) * block_bytes < size / most_compression;
}

/// Of a version that ends with a seal, and has none: it was never complete.
bool lacks_its_seal(const OpenFile& file, std::uint64_t size) {
  constexpr std::uint64_t version_at = 20;  // behind the magic, and the header's tag and size
  const Bytes version = file.read({version_at, sizeof(std::uint32_t)});
  const Bytes tag = file.read({size - seal_frame_bytes, sizeof(std::uint32_t)});
  return load_le<std::uint32_t>(version.data()) == journal_version && load_le<std::uint32_t>(tag.data()) != seal_tag;
}

/// Read piece by piece: does it end with a seal by this key?
bool has_own_seal(const OpenFile& file, std::uint64_t size, const JournalKey& key) {
  if (!key.exists()) return false;
  HmacSha256 sealing = key.sealing();
  const std::uint64_t end = size - seal_frame_bytes;
  for (std::uint64_t at = 0; at < end; at += sealed_piece_bytes) {
    sealing.add(file.read({at, std::min(sealed_piece_bytes, end - at)}));
  }
  const Bytes frame = file.read({end, seal_frame_bytes});
  Sha256Digest seal{};
  std::copy_n(frame.begin() + 12, seal.size(), seal.begin());
  return same_digest(sealing.finish(), seal);
}

/// A regular file that may be a journal of this user's, as far as that can be told without reading it.
bool may_be_own(const struct stat& status) {
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return S_ISREG(status.st_mode) && size >= seal_frame_bytes && size <= limits::max_journal_bytes &&
         !is_mostly_holes(status);
}

}  // namespace

bool is_sealed(const OpenFile& file, const JournalKey& key) {
  const struct stat status = file.status();
  return may_be_own(status) && has_own_seal(file, static_cast<std::uint64_t>(status.st_size), key);
}

std::optional<bool> is_regular(const Place& place) {
  const auto status = place.status();
  if (!status) return std::nullopt;
  return S_ISREG(status->st_mode);
}

std::optional<Journal> read_journal(const OpenFile& file, const JournalKey& key) {
  const struct stat status = file.status();
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode)) throw Error(Status::refused, file.path() + ": no regular file", "remove it");
  const bool is_large = size > limits::max_foreign_journal_bytes;
  if (is_large && !is_mostly_holes(status) && lacks_its_seal(file, size)) return std::nullopt;
  if (size > limits::max_journal_bytes || is_mostly_holes(status) || (is_large && !has_own_seal(file, size, key))) {
    throw Error(Status::refused, fmt::format("{}: {} bytes that are no journal of yours", file.path(), size),
                "`tare history --prune` forgets it");
  }
  auto journal = decoded(file.read({0, size}), file.path(), key);
  // It was read a second time: whoever wrote in between gets no more by it than by any other journal.
  if (is_large && journal && !journal->is_own) throw Error(Status::busy, file.path() + ": changes while it is read");
  return journal;
}

}  // namespace tare
