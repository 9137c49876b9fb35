// The host's floating-point environment (rounding direction, flush-to-zero, traps, sticky flags) must not change a
// result and must not be changed. Every pass holds one of these on its calling thread (backend.cpp); worker threads,
// which inherit the environment of whoever made them, hold one for their whole life (workers.cpp).
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif
#include <cstdint>

namespace tare::kernels::cpu {

/// Sets the default environment (to nearest even, denormals kept, nothing trapped) for its own lifetime and thread.
class FpEnvironment {
 public:
#if defined(__x86_64__)
  // To change the register takes longer than a step of a scaler; most hosts have the default, and flags that are set.
  FpEnvironment() : saved_(_mm_getcsr()) {
    __asm__ volatile("fnstcw %0" : "=m"(saved_x87_));
    if ((saved_ & ~sticky_flags) != default_mode) set(default_mode);
    if (saved_x87_ != default_x87) set_x87(default_x87);
  }
  ~FpEnvironment() {
    __asm__ volatile("" ::: "memory");
    if (_mm_getcsr() != saved_) set(saved_);
    if (saved_x87_ != default_x87) set_x87(saved_x87_);
  }
#elif defined(__aarch64__)
  FpEnvironment() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    __asm__ volatile("mrs %0, fpsr" : "=r"(saved_status_));
    set(0, 0);
  }
  ~FpEnvironment() {
    set(saved_, saved_status_);
  }
#else
  FpEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FpEnvironment() {
    std::fesetenv(&saved_);
  }
#endif
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
  // The compiler does not know that calculations depend on these registers. What is loaded after the first barrier and
  // stored before the last is calculated in between.
#if defined(__x86_64__)
  static constexpr std::uint32_t sticky_flags = 0x3f;
  static constexpr std::uint32_t default_mode = 0x1f80;
  static void set(std::uint32_t value) {
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(value);
    __asm__ volatile("" ::: "memory");
  }
  /// The C library reads and writes decimals as this register, not the other, says.
  static constexpr std::uint16_t default_x87 = 0x037f;
  static void set_x87(std::uint16_t value) {
    __asm__ volatile("fldcw %0" ::"m"(value) : "memory");
  }
  std::uint32_t saved_;
  std::uint16_t saved_x87_;
#elif defined(__aarch64__)
  static void set(std::uint64_t control, std::uint64_t status) {
    __asm__ volatile("msr fpcr, %0" ::"r"(control) : "memory");
    __asm__ volatile("msr fpsr, %0" ::"r"(status) : "memory");
  }
  std::uint64_t saved_;
  std::uint64_t saved_status_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace tare::kernels::cpu
