// A run in a store, two small ranks and a large file, and an edit of all three.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/objects/object_transaction.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/objects/memory_objects.hpp"

namespace tare::test {

inline const std::string run_folder = "s3://bucket/run";
inline const std::string pending_path = run_folder + "/.tare/pending";
inline const std::string record_path = run_folder + "/.tare/000001.edit";
inline const std::string undone_path = run_folder + "/.tare/000001.undone";
inline const std::string first_rank = run_folder + "/rank0.pt";
inline const std::string second_rank = run_folder + "/rank1.pt";
inline const std::string model = run_folder + "/weights/model.pt";

JournalKey key_of(unsigned who);

struct Bucket {
  /// `paths`: of those that it has.
  explicit Bucket(const std::vector<std::string>& paths = {first_rank, second_rank, model});

  std::vector<FileEdit> edits();
  [[nodiscard]] static std::vector<FieldEdit> fields();
  static TransactionOptions sealed(unsigned who = 1);
  void edit() { commit(store, edits(), fields(), sealed()); }

  [[nodiscard]] bool all_old() const { return are(old); }
  [[nodiscard]] bool all_new() const { return are(edited); }
  /// No journal of anything unfinished, and no upload.
  [[nodiscard]] bool is_tidy() const { return !store.has(pending_path) && store.uploads.empty(); }

  MemoryObjects store;
  std::map<std::string, Bytes> old, edited;

 private:
  [[nodiscard]] bool are(const std::map<std::string, Bytes>& wanted) const;
};

}  // namespace tare::test
