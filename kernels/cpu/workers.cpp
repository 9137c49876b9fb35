#include "kernels/cpu/workers.hpp"

#include <unistd.h>

#include "kernels/cpu/fp_environment.hpp"
#include "kernels/cpu/signals_blocked.hpp"

namespace tare::kernels::cpu {
Workers::Workers(unsigned count) : owner_(getpid()) {
  if (count <= 1) return;
  threads_.reserve(count - 1);
  const SignalsBlocked blocked;
  try {
    for (unsigned i = 1; i < count; ++i) threads_.emplace_back([this] { serve(); });
  } catch (...) {
    stop();
    throw;
  }
}

Workers::~Workers() {
  stop();
}

void Workers::stop() {
  if (getpid() != owner_) {
    for (std::thread& thread : threads_) thread.detach();
    return;
  }
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(Call call, void* context) {
  if (!threads_.empty()) {
    call_ = call;
    context_ = context;
    busy_.store(static_cast<std::uint32_t>(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  call(context);
  for (std::uint32_t busy = busy_.load(std::memory_order_acquire); busy != 0;
       busy = busy_.load(std::memory_order_acquire)) {
    busy_.wait(busy, std::memory_order_acquire);
  }
}

void Workers::serve() {
  const FpEnvironment environment;
  for (std::uint32_t seen = 0;; ++seen) {
    round_.wait(seen, std::memory_order_acquire);
    if (stopping_) return;
    call_(context_);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace tare::kernels::cpu
