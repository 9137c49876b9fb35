// Whatever a host has done to its floating-point environment, results are the same and it finds its own again.
#include <fenv.h>

#include <cstdlib>
#include <new>

#include "kernels/cpu/fp_environment.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

std::atomic<std::size_t> allocations{0};

std::vector<Array> gradients() {
  std::mt19937_64 random(11);
  std::vector<Array> arrays;
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
    fill(arrays.emplace_back(dtype, 200003), random, false);
  }
  for (std::uint64_t i = 0; i < 5000; ++i) arrays[0].set(i, i);  // denormals
  return arrays;
}

struct Outcome {
  std::vector<Array> values;
  Statistics total;
  bool environment_kept;
};

/// Unscales the gradients in the environment that `leave_default` makes and `is_kept` knows.
template <class LeaveDefault, class IsKept>
Outcome unscaled(cpu::InstructionSet set, LeaveDefault leave_default, IsKept is_kept) {
  Outcome outcome = {gradients(), {}, false};
  std::vector<Tensor> tensors;
  for (Array& array : outcome.values) tensors.push_back(array.tensor());
  const float scale = 1.0f / 3;
  fenv_t before;
  fegetenv(&before);
  leave_default();
  {
    cpu::CpuBackend backend(3, set);  // its threads inherit the environment of this one
    const auto list = backend.make_list();
    list->assign(tensors.data(), tensors.size(), nullptr);
    list->unscale(&scale, {.total = &outcome.total, .threshold = 1e-40}, nullptr);
  }
  outcome.environment_kept = is_kept();
  fesetenv(&before);
  return outcome;
}

}  // namespace

// Not inlined: valgrind puts its own operators in their place, and either all or none may be.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

TEST_CASE("rounding direction, flush-to-zero and traps of the host change no bit and are kept") {
  for (const auto set : available_sets()) {
    INFO(cpu::name_of(set));
    const Outcome expected = unscaled(
        set, [] {}, [] { return true; });
    for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      const Outcome outcome = unscaled(
          set, [=] { fesetround(direction); }, [=] { return fegetround() == direction; });
      CHECK(outcome.environment_kept);
      CHECK(outcome.values == expected.values);
      CHECK(same(outcome.total, expected.total));
    }
#if defined(__x86_64__)
    const unsigned odd = 0xe040;  // flush to zero, denormals are zero, towards zero, nothing masked, no sticky flag
    const Outcome outcome = unscaled(
        set, [] { _mm_setcsr(odd); }, [] { return _mm_getcsr() == odd; });
    CHECK(outcome.environment_kept);
    CHECK(outcome.values == expected.values);
    CHECK(same(outcome.total, expected.total));
#endif
    CHECK(std::isfinite(expected.total.sum_of_squares));
  }
}

TEST_CASE("the environment guard sets the default and brings back what was") {
  volatile float one = 1.0f;
  volatile float tiny = 0x1p-149f;
  volatile float inside = 0;
  volatile float outside = 0;
  fesetround(FE_UPWARD);
  feraiseexcept(FE_DIVBYZERO);
  {
    const cpu::FpEnvironment environment;
    inside = one + tiny;  // also inexact
  }
  outside = one + one * 0x1p-24f;
  feclearexcept(FE_INEXACT);
  {
    const cpu::FpEnvironment environment;
    inside = inside + tiny;
  }
  const int flags = fetestexcept(FE_ALL_EXCEPT);
  feclearexcept(FE_ALL_EXCEPT);
  fesetround(FE_TONEAREST);
  CHECK(inside == 1.0f);
  CHECK(outside > 1.0f);
  CHECK((flags & FE_DIVBYZERO) != 0);
  CHECK((flags & FE_INEXACT) == 0);
}

TEST_CASE("the environment guard brings flags back where the environment was the default already") {
  volatile float one = 1.0f;
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO);
  {
    const cpu::FpEnvironment environment;
    one = one + 0x1p-149f;
    CHECK(fetestexcept(FE_INEXACT) != 0);
  }
  const int flags = fetestexcept(FE_ALL_EXCEPT);
  feclearexcept(FE_ALL_EXCEPT);
  CHECK(flags == FE_DIVBYZERO);
}

TEST_CASE("nothing allocates in a pass over a prepared list, nor when it is bound to other addresses") {
  std::vector<Array> values = gradients();
  std::vector<Array> others = gradients();
  std::vector<Array> written = gradients();
  std::vector<Tensor> tensors, other_tensors, outputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensors.push_back(values[i].tensor());
    other_tensors.push_back(others[i].tensor());
    outputs.push_back(written[i].tensor());
  }
  std::vector<Statistics> each(values.size());
  float found_inf = 0;
  Statistics total;
  const Findings findings = {&found_inf, &total, each.data(), 1e-3};
  const float scale = 0.5f;
  cpu::CpuBackend backend(2);
  const auto list = backend.make_list();
  list->assign(tensors.data(), tensors.size(), nullptr);
  const std::size_t before = allocations;
  list->observe(findings, nullptr);
  list->unscale(&scale, findings, nullptr);
  const bool bound = list->rebind(other_tensors.data(), other_tensors.size(), nullptr);
  list->write(outputs.data(), {.inverse_scale = &scale}, findings, nullptr);
  list->assign(tensors.data(), tensors.size() / 2, nullptr);
  const std::size_t after = allocations;
  CHECK(bound);
  CHECK(after == before);
}
