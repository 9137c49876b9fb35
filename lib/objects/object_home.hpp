// One `.tare` folder of a store: what is in it, under the names that it has in a file system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/object_layer.hpp"
#include "lib/transaction/journal_key.hpp"
#include "lib/transaction/recover.hpp"
#include "lib/transaction/store.hpp"

namespace tare {

/// A journal that is an object, as it was read.
struct StoredJournal {
  ObjectSeen seen;
  Journal journal;
};

class ObjectHome {
 public:
  /// Borrows `objects`. `folder`: the one that `.tare` is in.
  ObjectHome(ObjectLayer& objects, std::string folder, const JournalKey& key)
      : objects_(&objects), folder_(std::move(folder)), key_(key) {}

  [[nodiscard]] ObjectLayer& objects() const { return *objects_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const JournalKey& key() const { return key_; }
  [[nodiscard]] std::string path(const FileRecord& record) const { return joined(folder_, record.name); }
  [[nodiscard]] std::string pending() const { return inside(pending_name); }
  [[nodiscard]] std::string record(StoredRecord record) const { return inside(name_of(record)); }

  /// By number, each once.
  [[nodiscard]] std::vector<StoredRecord> records() const;
  /// Nothing where there is none. Throws `refused` for an object that is no journal, or is a large one of somebody
  /// else, and as `decoded`.
  [[nodiscard]] std::optional<StoredJournal> read(const std::string& path) const;
  [[nodiscard]] Bytes encoded(const Journal& journal) const;

 private:
  [[nodiscard]] std::string inside(const std::string& name) const { return joined(joined(folder_, store_name), name); }

  ObjectLayer* objects_;
  std::string folder_;
  JournalKey key_;
};

/// What `seen` is, as records are held against it.
ReadableFile readable(ObjectLayer& objects, const std::string& path, const ObjectSeen& seen);

/// The folder that an object at `path` is in, and all that that is in, up to the bucket: the deepest first.
std::vector<std::string> folders_above(const std::string& path);

}  // namespace tare
