// Edits and undos of objects that were interrupted, at every request, and what becomes of them.
#include "lib/objects/object_transaction.hpp"
#include "tests/catch.hpp"
#include "tests/unit/objects/at_each_request.hpp"
#include "tests/unit/objects/bucket.hpp"

namespace tare::test {
namespace {

std::vector<Pending> recovered(Bucket& bucket, const RecoverOptions& options = {}, unsigned who = 1) {
  return recover_around(bucket.store, run_folder, key_of(who), options);
}

std::optional<Pending> pending(Bucket& bucket) {
  return find_pending(bucket.store, run_folder, {first_rank, second_rank, model}, key_of(1));
}

TEST_CASE("wherever an edit stops, readers are told, and recovery makes all old, or finds all new") {
  const auto nothing = [](Bucket&) {};
  const auto edit = [](Bucket& bucket) { bucket.edit(); };
  std::size_t mixed = 0;
  const std::size_t stops = at_each_request<Bucket>(nothing, edit, [&](Bucket& bucket) {
    const bool is_recorded = bucket.store.has(record_path);
    const bool is_pending = bucket.store.has(pending_path);
    mixed += !bucket.all_old() && !bucket.all_new();
    const auto told = pending(bucket);
    CHECK(told.has_value() == (is_pending && !is_recorded));
    if (told) CHECK(told->state == PendingState::interrupted);
    CHECK(recovered(bucket).size() == (told ? 1 : 0));
    CHECK((is_recorded ? bucket.all_new() : bucket.all_old()));
    CHECK_FALSE(bucket.store.has(pending_path));
    CHECK_FALSE(pending(bucket));
  });
  CHECK(stops == 22);
  CHECK(mixed > 4);
}

TEST_CASE("wherever an undo stops, recovery makes all as the edit left it, or finds all old") {
  const auto edit = [](Bucket& bucket) { bucket.edit(); };
  const auto take_back = [](Bucket& bucket) { undo(bucket.store, run_folder, key_of(1), {}); };
  const std::size_t stops = at_each_request<Bucket>(edit, take_back, [&](Bucket& bucket) {
    const bool is_recorded = bucket.store.has(undone_path);
    recovered(bucket);
    CHECK((is_recorded ? bucket.all_old() : bucket.all_new()));
    CHECK(bucket.store.has(record_path) != is_recorded);
    CHECK_FALSE(bucket.store.has(pending_path));
    CHECK_FALSE(pending(bucket));
  });
  CHECK(stops == 24);
}

TEST_CASE("a recovery that is itself stopped anywhere is done by the next one") {
  const auto interrupted = [](Bucket& bucket) {
    constexpr std::size_t confirmation = 9;
    REQUIRE(is_stopped(bucket.store, confirmation, Moment::before, [&] { bucket.edit(); }));
    REQUIRE(bucket.all_new());
    bucket.store.now += long_enough;
  };
  const auto recovery = [](Bucket& bucket) { recovered(bucket); };
  const std::size_t stops = at_each_request<Bucket>(interrupted, recovery, [&](Bucket& bucket) {
    const bool is_done = bucket.all_old() && !bucket.store.has(pending_path);
    CHECK(recovered(bucket).size() == (is_done ? 0 : 1));
    CHECK(bucket.all_old());
    CHECK_FALSE(bucket.store.has(pending_path));
  });
  CHECK(stops > 12);
}

struct State {
  const char* what;
  std::function<void(Bucket& bucket)> becomes;
  RecoverOptions options;
  unsigned who;
  Status answer;
  bool is_old;
};

RecoverOptions with(bool RecoverOptions::*option) {
  RecoverOptions options;
  options.*option = true;
  return options;
}

TEST_CASE("an undo by an id that is not the interrupted edit's takes nothing back of that") {
  Bucket bucket;
  constexpr std::size_t confirmation = 9;
  REQUIRE(is_stopped(bucket.store, confirmation, Moment::before, [&] { bucket.edit(); }));
  bucket.store.now += long_enough;
  const auto told = pending(bucket);
  REQUIRE(told);
  UndoOptions other;
  other.id = "3f9a0c2e51d7";
  CHECK(status_of([&] { undo(bucket.store, run_folder, key_of(1), other); }) == Status::refused);
  CHECK(bucket.store.has(pending_path));
  UndoOptions meant;
  meant.id = told->id;
  CHECK(undo(bucket.store, run_folder, key_of(1), meant).kind == UndoKind::rolled_back);
  CHECK(bucket.all_old());
}

TEST_CASE("what recovery does with each state that it can find") {
  const auto silent = [](Bucket& bucket) { bucket.store.now += long_enough; };
  const auto fresh = [](Bucket& bucket) { bucket.store.now += 59; };
  const auto foreign = [&](Bucket& bucket) {
    silent(bucket);
    bucket.store.put(second_rank, Bytes(1'000, std::byte{'c'}));
  };
  const auto gone = [&](Bucket& bucket) {
    silent(bucket);
    bucket.store.remove(second_rank);
  };
  const State states[] = {
      {"silent for a minute", silent, {}, 1, Status::ok, true},
      {"at work", fresh, {}, 1, Status::busy, false},
      {"said to be left", fresh, with(&RecoverOptions::assume_abandoned), 1, Status::ok, true},
      {"of somebody else", silent, {}, 2, Status::refused, false},
      {"of somebody who is trusted", silent, with(&RecoverOptions::trust_journals), 2, Status::ok, true},
      {"one was written since", foreign, {}, 1, Status::refused, false},
      {"one was written since, and may stay", foreign, with(&RecoverOptions::abandon_foreign_files), 1, Status::ok,
       true},
      {"one is gone", gone, {}, 1, Status::refused, false},
  };
  for (const State& state : states) {
    Bucket bucket;
    constexpr std::size_t confirmation = 9;
    REQUIRE(is_stopped(bucket.store, confirmation, Moment::before, [&] { bucket.edit(); }));
    INFO(state.what);
    state.becomes(bucket);
    CHECK(status_of([&] { recovered(bucket, state.options, state.who); }) == state.answer);
    bucket.old.erase(second_rank);
    bucket.edited.erase(second_rank);
    CHECK(bucket.all_old() == state.is_old);
    CHECK(bucket.all_new() == !state.is_old);
    CHECK(bucket.store.has(pending_path) == !state.is_old);
  }
}

TEST_CASE("one that is silent for less than a minute is told as at work") {
  Bucket bucket;
  REQUIRE(is_stopped(bucket.store, 6, Moment::after, [&] { bucket.edit(); }));
  bucket.store.now += 59;
  const auto told = pending(bucket);
  REQUIRE(told);
  CHECK(told->state == PendingState::in_progress);
  CHECK(told->files.size() == 3);
  CHECK(told->origin.user == "anna");
}

TEST_CASE("what is no journal is told as such, and nothing is done by it") {
  Bucket bucket;
  bucket.store.put(pending_path, Bytes(100, std::byte{'x'}));
  const auto told = pending(bucket);
  REQUIRE(told);
  CHECK(told->state == PendingState::unreadable);
  CHECK(status_of([&] { recovered(bucket); }) == Status::refused);
  CHECK(bucket.all_old());
}

}  // namespace
}  // namespace tare::test
