#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "lib/base/parallel.hpp"
#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("every task is done once") {
  std::vector<std::atomic<int>> calls(1000);
  for_each_parallel(calls.size(), [&](std::size_t i) { ++calls[i]; }, {});
  CHECK(std::count(calls.begin(), calls.end(), 1) == 1000);
}

TEST_CASE("slow tasks are shared by a bounded number of threads, and progress is told meanwhile") {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::vector<int> calls(120);
  std::vector<std::size_t> progress;
  for_each_parallel(
      calls.size(),
      [&](std::size_t i) {
        most = std::max(most.load(), ++running);
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        --running;
        ++calls[i];
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      },
      [&](std::size_t done) { progress.push_back(done); });
  CHECK(std::count(calls.begin(), calls.end(), 1) == 120);
  CHECK(most > 1);
  CHECK(threads.size() <= 16);
  CHECK_FALSE(progress.empty());
  CHECK(std::is_sorted(progress.begin(), progress.end()));
}

TEST_CASE("quick tasks that wait are shared, too; those that compute are the caller's") {
  const auto threads_of = [](std::size_t count, const auto& task) {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    const auto noted = [&](std::size_t) {
      task();
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    };
    for_each_parallel(count, noted, {});
    return threads.size();
  };
  CHECK(threads_of(400, [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); }) > 1);
  const auto compute = [] {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(2);
         std::chrono::steady_clock::now() < end;) {
      continue;
    }
  };
  CHECK(threads_of(10000, compute) == 1);
}

TEST_CASE("as many threads as are asked for share what waits") {
  for (const std::size_t most : {1U, 3U, 40U}) {
    std::atomic<std::size_t> running{0};
    std::atomic<std::size_t> seen{0};
    const auto wait = [&](std::size_t) {
      const std::size_t now = ++running;
      std::size_t before = seen.load();
      while (before < now && !seen.compare_exchange_weak(before, now)) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      --running;
    };
    for_each_parallel(most * 4, wait, {}, most);
    CHECK(seen <= most);
    CHECK((most == 1 || seen > most / 2));
  }
}

TEST_CASE("what a task throws on any thread ends no program: it is thrown by the caller, and no other task is begun") {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> begun{0};
  const auto throwing_elsewhere = [&](std::size_t) {
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (std::this_thread::get_id() != caller) throw std::bad_alloc();
  };
  CHECK_THROWS_AS(for_each_parallel(1000, throwing_elsewhere, {}), std::bad_alloc);
  CHECK(begun < 100);
  begun = 0;
  const auto throwing_at_once = [&](std::size_t) {
    ++begun;
    throw std::bad_alloc();
  };
  CHECK_THROWS_AS(for_each_parallel(1000, throwing_at_once, {}), std::bad_alloc);
  CHECK(begun == 1);
}

TEST_CASE("what is for each core is called once on the calling thread, and what one call throws is thrown after all") {
  std::atomic<int> ended{0};
  std::atomic<int> own{0};
  const auto caller = std::this_thread::get_id();
  CHECK_THROWS_AS(on_each_core(4,
                               [&] {
                                 if (std::this_thread::get_id() == caller) ++own;
                                 ++ended;
                                 throw std::bad_alloc();
                               }),
                  std::bad_alloc);
  CHECK(own == 1);
  CHECK(ended == std::min(4, std::max(1, static_cast<int>(std::thread::hardware_concurrency()))));
  on_each_core(1, [&] { ++own; });
  CHECK(own == 2);
}
