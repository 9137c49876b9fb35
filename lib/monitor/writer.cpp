#include "lib/monitor/writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kernels/cpu/fp_environment.hpp"
#include "kernels/cpu/signals_blocked.hpp"

namespace tare::monitor {

Writer::Writer(Sinks sinks) : sinks_(std::move(sinks)), owner_(getpid()) {
  if (sinks_.empty()) return;
  const kernels::cpu::SignalsBlocked blocked;
  thread_ = std::thread([this] { serve(); });
}

Writer::~Writer() {
  if (!thread_.joinable()) return;
  if (getpid() != owner_) {
    thread_.detach();
    return;
  }
  stopping_ = true;
  put_.fetch_add(1);
  put_.notify_one();
  thread_.join();
}

void Writer::put(std::shared_ptr<const ObservedStep> step) noexcept {
  if (sinks_.empty()) return;
  const std::uint32_t number = put_.load(std::memory_order_relaxed);
  if (number - done_.load(std::memory_order_acquire) == room) {
    ++left_out_;
    return;
  }
  waiting_[number % room] = std::move(step);
  put_.store(number + 1, std::memory_order_release);
  put_.notify_one();
}

bool Writer::is_idle() const noexcept {
  return done_.load(std::memory_order_acquire) == put_.load(std::memory_order_relaxed);
}

std::size_t Writer::failures() const noexcept {
  if (!is_idle()) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(sinks_, [](const auto& sink) { return !sink->failure().empty(); }));
}

void Writer::wait() const noexcept {
  const std::uint32_t number = put_.load(std::memory_order_relaxed);
  for (std::uint32_t done = done_.load(std::memory_order_acquire); done != number;
       done = done_.load(std::memory_order_acquire)) {
    done_.wait(done, std::memory_order_acquire);
  }
}

void Writer::serve() noexcept {
  const kernels::cpu::FpEnvironment environment;
  for (std::uint32_t number = 0;; ++number) {
    put_.wait(number, std::memory_order_acquire);
    if (stopping_ && put_.load(std::memory_order_acquire) - number == 1) return;
    const std::shared_ptr<const ObservedStep> step = std::move(waiting_[number % room]);
    for (const auto& sink : sinks_) sink->take(*step);
    done_.store(number + 1, std::memory_order_release);
    done_.notify_all();
  }
}

}  // namespace tare::monitor
