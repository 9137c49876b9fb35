#include "lib/objects/object_home.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/limits.hpp"
#include "lib/transaction/history.hpp"

namespace tare {
namespace {

/// It is read as a whole.
constexpr std::uint64_t most_journal_bytes = std::uint64_t{256} << 20;

constexpr const char* what_to_remove = "it is nothing that tare wrote here: remove it";

}  // namespace

std::vector<StoredRecord> ObjectHome::records() const {
  return records_in(objects_->names(joined(folder_, store_name)));
}

std::optional<StoredJournal> ObjectHome::read(const std::string& path) const {
  Bytes bytes;
  const auto seen = objects_->start(path, bytes);
  if (!seen) return std::nullopt;
  if (seen->size > most_journal_bytes) {
    throw Error(Status::refused, fmt::format("{}: {} bytes, more than a journal has", path, seen->size),
                what_to_remove);
  }
  const Bytes rest = objects_->read(path, *seen, {bytes.size(), seen->size - bytes.size()});
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  auto journal = decoded(bytes, path, key_);
  if (!journal) throw Error(Status::refused, path + ": no journal, or not all of one", what_to_remove);
  if (seen->size > limits::max_foreign_journal_bytes && !journal->is_own) {
    throw Error(Status::refused, fmt::format("{}: {} bytes that are no journal of yours", path, seen->size),
                what_to_remove);
  }
  return StoredJournal{*seen, *std::move(journal)};
}

Bytes ObjectHome::encoded(const Journal& journal) const {
  Bytes bytes;
  write_journal(journal, key_, [&](ByteView piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  return bytes;
}

ReadableFile readable(ObjectLayer& objects, const std::string& path, const ObjectSeen& seen) {
  return {path, seen.size, [&objects, path, seen](Span span) { return objects.read(path, seen, span); }};
}

std::vector<std::string> folders_above(const std::string& path) {
  const std::size_t bucket = path.find("://") + 3;
  std::vector<std::string> folders;
  for (std::size_t slash = path.rfind('/'); slash != path.npos && slash > bucket; slash = path.rfind('/', slash - 1)) {
    folders.push_back(path.substr(0, slash));
  }
  return folders;
}

}  // namespace tare
