// What several threads finish in any order, taken in order.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace tare {

/// Hands results on by their numbers, 0 first, each as soon as those before it are there: only what came too early
/// waits.
template <typename Result>
class InOrder {
 public:
  using Take = std::function<void(std::size_t number, Result result)>;

  explicit InOrder(Take take) : take_(std::move(take)) {}

  /// For any thread; each number once. `take` is called by one thread at a time. Where it throws, nothing more is
  /// taken.
  void give(std::size_t number, Result result) {
    const std::lock_guard lock(turn_);
    if (failure_) return;
    try {
      early_.emplace(number, std::move(result));
      for (auto ready = early_.find(next_); ready != early_.end(); ready = early_.find(++next_)) {
        take_(next_, std::move(early_.extract(ready).mapped()));
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  /// Throws what `take` threw. REQUIRES: nobody gives any more.
  void finish() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  Take take_;
  std::mutex turn_;
  std::map<std::size_t, Result> early_;
  std::size_t next_ = 0;
  std::exception_ptr failure_;
};

}  // namespace tare
