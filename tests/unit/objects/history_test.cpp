// What is on record of edits in a store: told, and forgotten.
#include "lib/objects/object_transaction.hpp"
#include "tests/catch.hpp"
#include "tests/unit/objects/at_each_request.hpp"
#include "tests/unit/objects/bucket.hpp"

namespace tare::test {
namespace {

constexpr std::int64_t long_enough = 61;
constexpr std::size_t confirmation = 9;

std::vector<HistoryEntry> told(Bucket& bucket, const std::string& path = run_folder, unsigned who = 1) {
  std::vector<HistoryEntry> entries;
  history(bucket.store, journal_places(bucket.store, path), key_of(who),
          [&](const HistoryEntry& entry) { entries.push_back(entry); });
  return entries;
}

Pruned pruned(Bucket& bucket, unsigned who = 1) {
  Pruned gone = prune(bucket.store, run_folder, key_of(who), {});
  if (gone.busy) throw *gone.busy;
  return gone;
}

TEST_CASE("an edit in a store is on record until its undo, and as undone from then on") {
  Bucket bucket;
  CHECK(told(bucket).empty());
  bucket.edit();
  const auto entries = told(bucket);
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].state == HistoryState::applied);
  CHECK(entries[0].is_own);
  CHECK(entries[0].folder == run_folder);
  CHECK(entries[0].origin.user == "anna");
  CHECK(entries[0].files == std::vector<std::string>{first_rank, second_rank, model});
  CHECK(entries[0].fields.at(0).file == first_rank);
  undo(bucket.store, run_folder, key_of(1), {});
  const auto after = told(bucket);
  REQUIRE(after.size() == 1);
  CHECK(after[0].state == HistoryState::undone);
  CHECK_FALSE(after[0].undone_when.empty());
}

TEST_CASE("of an object its own edits are told, and of others none") {
  Bucket bucket;
  bucket.edit();
  CHECK(told(bucket, model).size() == 1);
  CHECK(told(bucket, run_folder + "/rank2.pt").empty());
}

TEST_CASE("what was edited below a folder of a store is told, undone and forgotten by the folder's name") {
  for (const std::string above : {"s3://bucket", "s3://bucket/"}) {
    Bucket bucket;
    bucket.edit();
    REQUIRE(told(bucket, above).size() == 1);
    CHECK(told(bucket, above)[0].folder == run_folder);
    CHECK(told(bucket, run_folder + "/weights").size() == 1);
    CHECK(undo(bucket.store, above, key_of(1), {}).files.size() == 3);
    CHECK(bucket.all_old());
    CHECK(prune(bucket.store, above, key_of(1), {}).records == 1);
    CHECK(told(bucket).empty());
  }
}

TEST_CASE("of several edits below a folder of a store the last one is undone") {
  const std::string other = "s3://bucket/else/rank0.pt";
  Bucket bucket({first_rank, other});
  std::vector<FileEdit> edits = bucket.edits();
  for (FileEdit& edit : edits) commit(bucket.store, {edit}, {}, bucket.sealed());
  undo(bucket.store, "s3://bucket", key_of(1), {});
  CHECK(bucket.store.bytes(edits[0].path) == bucket.edited.at(edits[0].path));
  CHECK(bucket.store.bytes(edits[1].path) == bucket.old.at(edits[1].path));
}

TEST_CASE("what was interrupted below a folder of a store is found and taken back by the folder's name") {
  Bucket bucket;
  REQUIRE(is_stopped(bucket.store, confirmation, Moment::before, [&] { bucket.edit(); }));
  CHECK(find_pending(bucket.store, journal_places(bucket.store, "s3://bucket"), key_of(1)));
  CHECK_FALSE(find_pending_around(bucket.store, "s3://bucket", key_of(1)));
  bucket.store.now += long_enough;
  undo(bucket.store, "s3://bucket", key_of(1), {});
  CHECK(bucket.all_old());
  CHECK(bucket.is_tidy());
}

TEST_CASE("of several interrupted edits below a folder of a store an undo takes back one") {
  const std::vector<std::string> paths{first_rank, "s3://bucket/else/rank0.pt"};
  Bucket bucket(paths);
  for (FileEdit& edit : bucket.edits()) {
    bucket.store.go_on();
    REQUIRE(is_stopped(bucket.store, 2, Moment::after, [&] { commit(bucket.store, {edit}, {}, bucket.sealed()); }));
  }
  bucket.store.go_on();
  bucket.store.now += long_enough;
  for (const std::size_t left : {std::size_t{1}, std::size_t{0}}) {
    CHECK(undo(bucket.store, "s3://bucket", key_of(1), {}).kind == UndoKind::rolled_back);
    CHECK(all_pending(bucket.store, "s3://bucket", key_of(1)).size() == left);
  }
  CHECK(bucket.all_old());
}

TEST_CASE("what others left unfinished below a folder of a store keeps nobody from an undo of his own edit") {
  for (const bool is_journal : {true, false}) {
    Bucket bucket({first_rank, "s3://bucket/else/rank0.pt"});
    std::vector<FileEdit> edits = bucket.edits();
    commit(bucket.store, {edits[0]}, {}, bucket.sealed());
    const std::string other = edits[1].path.substr(0, edits[1].path.rfind('/')) + "/.tare/pending";
    REQUIRE(
        is_stopped(bucket.store, 2, Moment::after, [&] { commit(bucket.store, {edits[1]}, {}, bucket.sealed(2)); }));
    bucket.store.go_on();
    REQUIRE(bucket.store.has(other));
    if (!is_journal) bucket.store.put(other, Bytes(100, std::byte{'x'}));
    undo(bucket.store, "s3://bucket", key_of(1), {});
    CHECK(bucket.store.bytes(edits[0].path) == bucket.old.at(edits[0].path));
    CHECK(bucket.store.has(other));
    const Pruned gone = prune(bucket.store, "s3://bucket", key_of(1), {});
    CHECK(gone.records == 1);
    REQUIRE(gone.busy);
    CHECK(gone.busy->status == Status::busy);
    CHECK(bucket.store.has(other));
  }
}

TEST_CASE("who may see the folder of a checkpoint alone edits there, and has that told, undone and forgotten") {
  Bucket bucket;
  bucket.store.forbidden = "s3://bucket/.tare";
  CHECK(recover_around(bucket.store, run_folder, key_of(1), {}).empty());
  bucket.edit();
  CHECK_FALSE(find_pending(bucket.store, journal_places(bucket.store, run_folder), key_of(1)));
  CHECK(told(bucket).size() == 1);
  undo(bucket.store, run_folder, key_of(1), {});
  CHECK(bucket.all_old());
  CHECK(pruned(bucket).records == 1);
}

TEST_CASE("an edit whose folder may not be listed is refused before anything is written") {
  Bucket bucket;
  bucket.store.forbidden = run_folder + "/.tare";
  CHECK(status_of([&] { bucket.edit(); }) == Status::refused);
  CHECK(bucket.store.changes.empty());
}

TEST_CASE("a record of somebody else is told as such, and one that nobody can read as damaged") {
  Bucket bucket;
  bucket.edit();
  CHECK_FALSE(told(bucket, run_folder, 2).at(0).is_own);
  bucket.store.put(record_path, Bytes(100, std::byte{'x'}));
  const auto entries = told(bucket);
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].state == HistoryState::damaged);
  CHECK(entries[0].number == 1);
  CHECK(pruned(bucket).records == 1);
  CHECK_FALSE(bucket.store.has(record_path));
}

TEST_CASE("what is forgotten cannot be undone, and the objects stay as they are") {
  Bucket bucket;
  bucket.edit();
  CHECK(pruned(bucket).records == 1);
  CHECK(told(bucket).empty());
  CHECK(bucket.all_new());
  CHECK(status_of([&] { undo(bucket.store, run_folder, key_of(1), {}); }) == Status::refused);
}

TEST_CASE("what was interrupted is taken back before records are forgotten") {
  Bucket bucket;
  REQUIRE(is_stopped(bucket.store, confirmation, Moment::before, [&] { bucket.edit(); }));
  CHECK(status_of([&] { pruned(bucket); }) == Status::busy);
  CHECK(bucket.all_new());
  bucket.store.now += long_enough;
  CHECK(pruned(bucket).records == 0);
  CHECK(bucket.all_old());
  CHECK(bucket.is_tidy());
}

TEST_CASE("a journal that nobody vouches for is forgotten, once it is silent, and the objects stay as they are") {
  Bucket bucket;
  REQUIRE(is_stopped(bucket.store, confirmation, Moment::before, [&] { bucket.edit(); }));
  CHECK(status_of([&] { pruned(bucket, 2); }) == Status::busy);
  bucket.store.now += long_enough;
  const auto ended = pruned(bucket, 2).ended;
  REQUIRE(ended.size() == 1);
  CHECK_FALSE(ended[0].is_own);
  CHECK(ended[0].files == std::vector<std::string>{first_rank, second_rank, model});
  CHECK(bucket.all_new());
  CHECK_FALSE(bucket.store.has(pending_path));
}

TEST_CASE("a record that nobody can read in a folder above is not forgotten with the records of one below") {
  Bucket bucket;
  const std::string above = "s3://bucket/.tare/000001.edit";
  bucket.store.put(above, Bytes(100, std::byte{'x'}));
  bucket.edit();
  const Pruned done = pruned(bucket);
  CHECK(done.records == 1);
  CHECK(done.ended.empty());
  CHECK(bucket.store.has(above));
}

TEST_CASE("a journal that is none is forgotten as well") {
  Bucket bucket;
  bucket.store.put(pending_path, Bytes(100, std::byte{'x'}));
  CHECK(status_of([&] { pruned(bucket); }) == Status::busy);
  bucket.store.now += long_enough;
  CHECK(pruned(bucket).records == 0);
  CHECK_FALSE(bucket.store.has(pending_path));
}

}  // namespace
}  // namespace tare::test
