#include "lib/remote/remote_limits.hpp"

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

/// What the budget says where nothing is left, with what to do.
std::string refusal(RemoteBudget& budget) {
  try {
    budget.take("s3://box/a.pt");
  } catch (const Error& error) {
    CHECK(error.status == Status::io);
    return error.what() + (": " + error.hint);
  }
  return "";
}

}  // namespace

TEST_CASE("so many requests are made as were allowed, and then it is said how to allow more") {
  RemoteLimits limits;
  limits.requests = 2;
  RemoteBudget budget(limits);
  for (int i = 0; i < 2; ++i) CHECK(refusal(budget).empty());
  CHECK(
      refusal(budget) ==
      "s3://box/a.pt: 2 requests are spent on this checkpoint: --max-requests allows more, or download the checkpoint");
}

TEST_CASE("once the time is over no request is made, and it is said how to give it more") {
  RemoteLimits limits;
  limits.time = std::chrono::seconds(0);
  RemoteBudget budget(limits);
  CHECK(refusal(budget) ==
        "s3://box/a.pt: 0 s are spent on this server: --max-seconds gives it more, or download the checkpoint");
}

TEST_CASE("what a store's list tells may be asked for, too, unless the user said how many requests there are") {
  const auto left = [](const RemoteLimits& limits, std::size_t listed) {
    RemoteBudget budget(limits);
    budget.allow_for(listed);
    std::size_t count = 0;
    while (refusal(budget).empty()) ++count;
    return count;
  };
  CHECK(left({.requests = 3, .requests_a_listed_object = 2}, 10) == 23);
  CHECK(left({.requests = 3, .requests_a_listed_object = 0}, 10) == 3);
  CHECK(left({.requests = 3, .requests_a_listed_object = 2}, std::size_t{1} << 40) == 3 + 2 * limits::max_files);
}
