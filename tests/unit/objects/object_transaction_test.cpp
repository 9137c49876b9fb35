// Edits of objects from begin to end: their order, who is in the way, and undo.
#include "lib/objects/object_transaction.hpp"

#include "lib/base/error.hpp"
#include "lib/objects/object_claim.hpp"
#include "lib/objects/places.hpp"
#include "lib/objects/planned_objects.hpp"
#include "tests/catch.hpp"
#include "tests/unit/objects/bucket.hpp"

namespace tare::test {
namespace {

using Changes = std::vector<std::string>;

TEST_CASE("the journal comes first, the record after all objects, and the journal goes last") {
  Bucket bucket;
  bucket.edit();
  CHECK(bucket.all_new());
  CHECK(bucket.is_tidy());
  CHECK(bucket.store.changes == Changes{"begin " + model, "create " + pending_path, "replace " + pending_path,
                                        "replace " + first_rank, "replace " + second_rank, "part of " + model,
                                        "part of " + model, "complete " + model, "replace " + pending_path,
                                        "create " + record_path, "remove " + pending_path});
}

TEST_CASE("a dry run tells of each request that changes something, and makes none") {
  Bucket bucket;
  const auto planned = planned_requests(bucket.store, bucket.edits(), Bucket::fields(), Bucket::sealed());
  CHECK(bucket.store.changes.empty());
  std::uint64_t copied = 0;
  for (const PlannedRequest& request : planned) copied += request.copied;
  bucket.edit();
  CHECK(planned.size() == bucket.store.changes.size());
  CHECK(copied == bucket.old.at(model).size() - least_part_bytes);
}

TEST_CASE("an edit that changes no byte asks for nothing") {
  Bucket bucket;
  bucket.edit();
  bucket.store.changes.clear();
  auto edits = bucket.edits();
  for (FileEdit& edit : edits) edit.change.patches[0].before = edit.change.patches[0].after;
  const Receipt receipt = commit(bucket.store, edits, Bucket::fields(), Bucket::sealed());
  CHECK(receipt.files.empty());
  CHECK(bucket.store.changes.empty());
}

TEST_CASE(
    "what somebody else writes between the look and the change is not written over, and all others are as before") {
  for (const std::string& theirs : {first_rank, second_rank, model}) {
    Bucket bucket;
    const Bytes other(2'000, std::byte{'c'});
    bucket.store.on_change = [&, is_written = false](const std::string& request) mutable {
      if (is_written || !(request.ends_with(theirs) && !request.starts_with("begin"))) return;
      is_written = true;
      bucket.store.put(theirs, other);
    };
    INFO(theirs);
    CHECK(status_of([&] { bucket.edit(); }) == Status::refused);
    CHECK(bucket.store.bytes(theirs) == other);
    bucket.old.erase(theirs);
    CHECK(bucket.all_old());
    CHECK(bucket.is_tidy());
    CHECK_FALSE(bucket.store.has(record_path));
  }
}

TEST_CASE("an object that is another since it was read is refused before anything is written") {
  Bucket bucket;
  const auto edits = bucket.edits();
  bucket.store.put(second_rank, bucket.old.at(second_rank));
  CHECK(status_of([&] { commit(bucket.store, edits, Bucket::fields(), Bucket::sealed()); }) == Status::refused);
  CHECK(bucket.store.changes.empty());
}

TEST_CASE("an object with labels is refused before anything is written") {
  Bucket bucket;
  bucket.store.labels = 1;
  CHECK(status_of([&] { bucket.edit(); }) == Status::refused);
  CHECK(bucket.store.changes.empty());
}

TEST_CASE("an object with a lock, or with labels that are seen only where they are asked for, is refused") {
  Bucket bucket;
  bucket.store.lock = "a legal hold";
  CHECK(status_of([&] { bucket.edit(); }) == Status::refused);
  bucket.store.lock.clear();
  bucket.store.unseen = 2;
  CHECK(status_of([&] { bucket.edit(); }) == Status::refused);
  CHECK(bucket.store.changes.empty());
}

TEST_CASE("where nobody may see whether objects have labels, an edit and an undo of them say so") {
  Bucket bucket;
  bucket.store.unseen = std::nullopt;
  const Receipt receipt = commit(bucket.store, bucket.edits(), bucket.fields(), bucket.sealed());
  REQUIRE(receipt.findings.size() == 1);
  CHECK(receipt.findings[0].code == "labels-unseen");
  CHECK(bucket.all_new());
  CHECK(undo(bucket.store, run_folder, key_of(1), {}).findings.size() == 1);
}

TEST_CASE("a path with an empty part is refused, and one with a slash at its end is none") {
  for (const char* path : {"s3://bucket/run//x.pt", "s3://bucket//x.pt"}) {
    CHECK(status_of([&] { require_reachable(path); }) == Status::refused);
  }
  for (const char* path : {"s3://bucket", "s3://bucket/run/", "s3://bucket/run//", "s3://bucket/a/./b.pt"}) {
    CHECK_NOTHROW(require_reachable(path));
  }
}

TEST_CASE("an object whose answer was lost is new all the same") {
  for (const std::string& path : {first_rank, model}) {
    Bucket bucket;
    bucket.store.lose_answer_of(path);
    bucket.edit();
    INFO(path);
    CHECK(bucket.all_new());
    CHECK(bucket.is_tidy());
    CHECK(bucket.store.has(record_path));
  }
}

TEST_CASE("an edit in a folder around that has the same object is in the way") {
  Bucket bucket({first_rank});
  const ObjectHome around(bucket.store, "s3://bucket", key_of(1));
  const auto records = planned_objects(around, bucket.edits(), {}).records;
  const auto claim = ObjectClaim::create(around, journal_of(around, records, {}, Bucket::sealed()));
  REQUIRE(claim);
  CHECK(status_of([&] { bucket.edit(); }) == Status::busy);
  CHECK(bucket.all_old());
  CHECK(bucket.is_tidy());
  claim->withdraw();
  CHECK(status_of([&] { bucket.edit(); }) == Status::ok);
}

TEST_CASE("an edit around is in the way by any one of its objects, whatever else it changes") {
  Bucket both({first_rank, second_rank});
  const ObjectHome around(both.store, "s3://bucket", key_of(1));
  const auto records = planned_objects(around, both.edits(), {}).records;
  REQUIRE(records.size() == 2);
  const auto claim = ObjectClaim::create(around, journal_of(around, records, {}, Bucket::sealed()));
  REQUIRE(claim);
  for (const FileEdit& one : both.edits()) {
    CHECK(status_of([&] { commit(both.store, {one}, {}, Bucket::sealed()); }) == Status::busy);
  }
  CHECK(both.all_old());
}

TEST_CASE("an edit that is refused after its upload began leaves no upload that somebody pays for") {
  Bucket bucket;
  const ObjectHome around(bucket.store, "s3://bucket", key_of(1));
  const auto records = planned_objects(around, bucket.edits(), {}).records;
  const auto claim = ObjectClaim::create(around, journal_of(around, records, {}, Bucket::sealed()));
  REQUIRE(claim);
  bucket.store.changes.clear();
  CHECK(status_of([&] { bucket.edit(); }) == Status::busy);
  REQUIRE(bucket.store.changes.at(0) == "begin " + model);
  CHECK(bucket.store.uploads.empty());
  CHECK(bucket.all_old());
}

TEST_CASE("undo makes all of an edit old, once, and leaves a record of that") {
  Bucket bucket;
  bucket.edit();
  const UndoResult undone = undo(bucket.store, run_folder, key_of(1), {});
  CHECK(undone.kind == UndoKind::undone);
  CHECK(undone.files.size() == 3);
  CHECK(undone.fields.at(0).after == "2");
  CHECK(bucket.all_old());
  CHECK(bucket.is_tidy());
  CHECK(bucket.store.has(undone_path));
  CHECK_FALSE(bucket.store.has(record_path));
  CHECK(status_of([&] { undo(bucket.store, run_folder, key_of(1), {}); }) == Status::refused);
}

TEST_CASE("edits of one object are undone from the last to the first, and then there is nothing to undo") {
  Bucket bucket({first_rank});
  std::vector<Bytes> past;
  std::vector<std::string> ids;
  for (const int value : {1, 2, 3}) {
    past.push_back(bucket.store.bytes(first_rank));
    FileEdit edit = bucket.edits()[0];
    Patch& patch = edit.change.patches[0];
    patch.before = Bytes(past.back().begin() + static_cast<std::ptrdiff_t>(patch.offset),
                         past.back().begin() + static_cast<std::ptrdiff_t>(patch.offset + patch.after.size()));
    patch.after = Bytes(patch.after.size(), static_cast<std::byte>(value));
    ids.push_back(commit(bucket.store, {edit}, Bucket::fields(), Bucket::sealed()).id);
  }
  const auto undone = [&] { return undo(bucket.store, run_folder, key_of(1), {}).id; };
  for (std::size_t left = 3; left-- > 0;) {
    CHECK(undone() == ids[left]);
    CHECK(bucket.store.bytes(first_rank) == past[left]);
    CHECK(bucket.is_tidy());
  }
  CHECK(status_of([&] { undone(); }) == Status::refused);
}

TEST_CASE("undo refuses what is no longer what the edit made of it") {
  Bucket bucket;
  bucket.edit();
  bucket.store.put(second_rank, Bytes(1'000, std::byte{'c'}));
  CHECK(status_of([&] { undo(bucket.store, run_folder, key_of(1), {}); }) == Status::refused);
  CHECK(bucket.store.bytes(first_rank) == bucket.edited.at(first_rank));
  CHECK(bucket.is_tidy());
}

TEST_CASE("where undo finds nothing it says whether an edit was named, and whether somebody else's is there") {
  Bucket bucket;
  const auto refusal = [&](unsigned who, const UndoOptions& options) -> std::string {
    try {
      undo(bucket.store, run_folder, key_of(who), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "undone";
  };
  UndoOptions named;
  named.id = "0123456789ab";
  CHECK(refusal(1, {}) == run_folder + ": nothing to undo");
  CHECK(refusal(1, named) == run_folder + ": no edit 0123456789ab to undo");
  bucket.edit();
  CHECK(refusal(2, {}) == run_folder + ": nothing to undo that is sealed with your key");
  CHECK(bucket.all_new());
}

TEST_CASE("an edit of somebody else is undone only where that is trusted") {
  Bucket bucket;
  bucket.edit();
  CHECK(status_of([&] { undo(bucket.store, run_folder, key_of(2), {}); }) == Status::refused);
  CHECK(bucket.all_new());
  UndoOptions trusting;
  trusting.recovery.trust_journals = true;
  CHECK(status_of([&] { undo(bucket.store, run_folder, key_of(2), trusting); }) == Status::ok);
  CHECK(bucket.all_old());
}

}  // namespace
}  // namespace tare::test
