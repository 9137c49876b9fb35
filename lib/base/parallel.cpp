#include "lib/base/parallel.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_threads = 16;
/// Tasks that take longer than this, on average, are worth threads: most of it is waiting. So are quicker ones that
/// wait (for a disk that syncs). One that was only interrupted is none of them.
constexpr auto slow_task = std::chrono::microseconds(500);
constexpr auto longest_interruption = std::chrono::milliseconds(4);
constexpr auto progress_interval = std::chrono::milliseconds(200);

/// How often this thread has waited, rather than been interrupted.
std::uint64_t waits_of_this_thread() {
  struct rusage usage {};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

/// Whether the tasks that the calling thread has done since show that others are worth it.
class Slowness {
 public:
  [[nodiscard]] bool shows_in(std::size_t tasks) const {
    const auto passed = Clock::now() - begin_;
    return passed > longest_interruption && (passed > slow_task * tasks || waits_of_this_thread() - waits_ > tasks / 2);
  }

 private:
  Clock::time_point begin_ = Clock::now();
  std::uint64_t waits_ = waits_of_this_thread();
};

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

/// Tasks that several threads share.
class Shared {
 public:
  Shared(std::size_t count, const std::function<void(std::size_t)>& task) : count_(count), task_(task) {}

  /// False where none is left. Where one throws, no other is begun.
  bool do_one() {
    const std::size_t index = next_.fetch_add(1);
    if (index >= count_) return false;
    if (!thrown_.returns([&] { task_(index); })) next_ = count_;
    done_.fetch_add(1);
    return true;
  }
  void do_all() {
    while (do_one()) continue;
  }
  [[nodiscard]] std::size_t left() const { return count_ - std::min<std::size_t>(next_.load(), count_); }
  [[nodiscard]] std::size_t done() const { return done_.load(); }
  void rethrow() const { thrown_.rethrow(); }

 private:
  std::size_t count_;
  const std::function<void(std::size_t)>& task_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
  FirstThrown thrown_;
};

/// Tells now and then how many are done.
class Progress {
 public:
  explicit Progress(const std::function<void(std::size_t)>& tell) : tell_(tell) {}

  void tell(std::size_t done) {
    const Clock::time_point now = Clock::now();
    if (!tell_ || now - told_ < progress_interval) return;
    tell_(done);
    told_ = now;
  }

 private:
  const std::function<void(std::size_t)>& tell_;
  Clock::time_point told_ = Clock::now();
};

}  // namespace

void for_each_parallel(std::size_t count, const std::function<void(std::size_t)>& task,
                       const std::function<void(std::size_t done)>& on_progress, std::size_t most) {
  Shared tasks(count, task);
  {
    Joined others;
    Progress progress(on_progress);
    const Slowness slowness;
    for (std::size_t own = 1; tasks.do_one(); ++own) {
      const std::size_t left = tasks.left();
      const bool is_worth_it = !others.is_started() && left > 1 && slowness.shows_in(own);
      if (is_worth_it) others.start(std::min(left, most - 1), [&] { tasks.do_all(); });
      progress.tell(tasks.done());
    }
  }
  tasks.rethrow();
}

void for_each_waiting(std::size_t count, const std::function<void(std::size_t)>& task,
                      const std::function<void(std::size_t done)>& on_progress, std::size_t most) {
  Shared tasks(count, task);
  {
    Joined others;
    Progress progress(on_progress);
    if (count > 1) others.start(std::min(count, most) - 1, [&] { tasks.do_all(); });
    while (tasks.do_one()) progress.tell(tasks.done());
  }
  tasks.rethrow();
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
