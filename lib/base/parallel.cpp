#include "lib/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_threads = 16;
/// Tasks that take longer than this, on average, are worth threads: most of it is waiting. One that was only
/// interrupted is none of them.
constexpr auto slow_task = std::chrono::microseconds(500);
constexpr auto longest_interruption = std::chrono::milliseconds(4);
constexpr auto progress_interval = std::chrono::milliseconds(200);

class Joined {
 public:
  Joined() = default;
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;
  ~Joined() {
    for (std::thread& thread : threads_) thread.join();
  }

  void start(std::size_t count, const std::function<void()>& work) {
    threads_.reserve(count);
    try {
      while (threads_.size() < count) threads_.emplace_back(work);
    } catch (const std::system_error&) {
      // As many as the system gives: the caller's own thread goes on in any case.
    }
  }
  [[nodiscard]] bool is_started() const { return !threads_.empty(); }

 private:
  std::vector<std::thread> threads_;
};

/// Of what the calls of several threads throw, the first.
class FirstThrown {
 public:
  /// Whether `call` returned.
  template <class Call>
  bool returns(const Call& call) {
    try {
      call();
      return true;
    } catch (...) {
      const std::lock_guard lock(one_at_a_time_);
      if (first_ == nullptr) first_ = std::current_exception();
      return false;
    }
  }
  /// Once all threads have ended.
  void rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::mutex one_at_a_time_;
  std::exception_ptr first_;
};

}  // namespace

void for_each_parallel(std::size_t count, const std::function<void(std::size_t)>& task,
                       const std::function<void(std::size_t done)>& on_progress, std::size_t most) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  FirstThrown thrown;
  const auto do_one = [&] {
    const std::size_t index = next.fetch_add(1);
    if (index >= count) return false;
    if (!thrown.returns([&] { task(index); })) next = count;  // no other is begun
    done.fetch_add(1);
    return true;
  };
  {
    Joined others;
    const Clock::time_point begin = Clock::now();
    Clock::time_point told = begin;
    for (std::size_t own = 1; do_one(); ++own) {
      const Clock::time_point now = Clock::now();
      const std::size_t left = count - std::min<std::size_t>(next.load(), count);
      const bool is_slow = now - begin > std::max<Clock::duration>(longest_interruption, slow_task * own);
      if (!others.is_started() && is_slow && left > 1) {
        others.start(std::min(left, most - 1), [&] {
          while (do_one()) continue;
        });
      }
      if (!on_progress || now - told < progress_interval) continue;
      on_progress(done.load());
      told = now;
    }
  }
  thrown.rethrow();
}

void on_each_core(std::size_t most, const std::function<void()>& work) {
  FirstThrown thrown;
  {
    Joined others;
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t count = std::min({most, cores, most_threads});
    if (count > 1) others.start(count - 1, [&] { thrown.returns(work); });
    thrown.returns(work);
  }
  thrown.rethrow();
}

}  // namespace tare
