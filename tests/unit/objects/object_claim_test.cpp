// The right to edit: one alone has it, keeps it, and loses it to who takes it over.
#include "lib/objects/object_claim.hpp"

#include "lib/objects/planned_objects.hpp"
#include "tests/catch.hpp"
#include "tests/unit/objects/bucket.hpp"

namespace tare::test {
namespace {

struct World {
  Journal journal() {
    return journal_of(home, planned_objects(home, bucket.edits(), {}).records, {}, Bucket::sealed());
  }

  Bucket bucket{{first_rank, second_rank}};
  ObjectHome home{bucket.store, run_folder, key_of(1)};
};

TEST_CASE("only one has the claim") {
  World world;
  const auto claim = ObjectClaim::create(world.home, world.journal());
  REQUIRE(claim);
  CHECK_FALSE(ObjectClaim::create(world.home, world.journal()));
  claim->withdraw();
  CHECK(ObjectClaim::create(world.home, world.journal()));
}

TEST_CASE("a claim whose answer was lost is had all the same") {
  World world;
  world.bucket.store.lose_answer_of(pending_path);
  auto claim = ObjectClaim::create(world.home, world.journal());
  REQUIRE(claim);
  world.bucket.store.lose_answer_of(pending_path);
  CHECK_NOTHROW(claim->confirm());
  CHECK_NOTHROW(claim->confirm());
}

TEST_CASE("what is left is taken over by one of two, and whose it was loses it") {
  World world;
  auto first = ObjectClaim::create(world.home, world.journal());
  REQUIRE(first);
  const auto left = world.home.read(pending_path);
  REQUIRE(left);
  ObjectClaim second = ObjectClaim::take_over(world.home, *left, left->journal);
  CHECK(status_of([&] { ObjectClaim::take_over(world.home, *left, left->journal); }) == Status::busy);
  CHECK(status_of([&] { first->confirm(); }) == Status::busy);
  CHECK_NOTHROW(second.confirm());
}

TEST_CASE("who renewed it cannot be taken over by who saw it before") {
  World world;
  auto claim = ObjectClaim::create(world.home, world.journal());
  REQUIRE(claim);
  const auto left = world.home.read(pending_path);
  claim->confirm();
  CHECK(status_of([&] { ObjectClaim::take_over(world.home, *left, left->journal); }) == Status::busy);
  CHECK_NOTHROW(claim->confirm());
}

TEST_CASE("a claim that is fresh is kept without a request") {
  World world;
  auto claim = ObjectClaim::create(world.home, world.journal());
  REQUIRE(claim);
  const std::size_t before = world.bucket.store.changes.size();
  claim->keep();
  CHECK(world.bucket.store.changes.size() == before);
}

TEST_CASE("a store that keeps no conditions is refused, and nothing is left there") {
  World world;
  world.bucket.store.is_conditional = false;
  CHECK(status_of([&] { ObjectClaim::create(world.home, world.journal()); }) == Status::refused);
  CHECK(world.bucket.all_old());
  CHECK(world.bucket.is_tidy());
}

}  // namespace
}  // namespace tare::test
