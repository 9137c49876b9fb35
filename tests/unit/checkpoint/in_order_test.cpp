#include "lib/checkpoint/in_order.hpp"
#include "tests/catch.hpp"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace tare;

TEST_CASE("results are taken in order, each as soon as those before it are there") {
  std::string taken;
  InOrder<char> results([&](std::size_t number, char result) {
    CHECK(number == taken.size());
    taken += result;
  });
  results.give(2, 'c');
  CHECK(taken.empty());
  results.give(0, 'a');
  CHECK(taken == "a");
  results.give(1, 'b');
  CHECK(taken == "abc");
  results.give(3, 'd');
  CHECK(taken == "abcd");
  results.finish();
}

TEST_CASE("after a failure nothing more is taken, and it is thrown in the end") {
  std::size_t taken = 0;
  InOrder<int> results([&](std::size_t number, int) {
    if (number == 1) throw std::runtime_error("the second");
    ++taken;
  });
  for (const std::size_t number : {3U, 2U, 1U, 0U}) results.give(number, 0);
  CHECK(taken == 1);
  CHECK_THROWS_WITH(results.finish(), "the second");
}

TEST_CASE("several threads give, and still one result is taken after the other") {
  constexpr std::size_t count = 4000;
  std::vector<std::size_t> taken;
  InOrder<std::size_t> results([&](std::size_t, std::size_t result) { taken.push_back(result); });
  std::vector<std::thread> threads;
  for (std::size_t first = 0; first < 4; ++first) {
    threads.emplace_back([&results, first] {
      for (std::size_t number = first; number < count; number += 4) results.give(number, number);
    });
  }
  for (std::thread& thread : threads) thread.join();
  results.finish();
  REQUIRE(taken.size() == count);
  for (std::size_t i = 0; i < count; ++i) REQUIRE(taken[i] == i);
}
