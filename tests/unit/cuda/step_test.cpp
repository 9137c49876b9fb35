// One launch is a whole step: what a pass finds goes to the scaler, whose rule runs in the block that finishes last.
#include <cmath>

#include "kernels/cuda/small_kernels.hpp"
#include "kernels/rule/policy.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"
#include "tests/unit/cuda/simulated.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

ScalerCore scaler_of(const char* name) {
  rule::RunningState running;
  running.policy = rule::make_policy(*rule::find_policy(name));
  rule::prepare(running.policy);
  running.state = rule::initial_state(running.policy);
  ScalerCore core;
  take_over(core, running);
  return core;
}

void command(ScalerCore& core, cuda::Command what, int overflow = 0, double scale = 0) {
  cuda::CommandArguments asked;
  asked.core = &core;
  asked.command = what;
  asked.overflow = overflow;
  asked.scale = scale;
  cuda::obey(asked);
}

}  // namespace

TEST_CASE("a launch that observes and steps follows every policy's rule, with random overflows") {
  std::mt19937_64 random(1);
  for (const rule::PolicySpec& spec : rule::policies()) {
    INFO(spec.name << " " << spec.variant);
    ScalerCore core = scaler_of(std::string(spec.name).c_str());
    rule::RunningState expected = core.running;
    Array array(Dtype::bf16, 100, 1);
    const Tensor tensor = array.tensor();
    SimulatedList list(random, 3);
    list.assign(&tensor, 1, nullptr);
    int wrong = 0;
    for (int i = 0; i < 300; ++i) {
      const bool overflow = random() % 20 == 0;
      array.set(random() % 100, narrow<Bf16>(overflow ? INFINITY : 2.0f));
      list.run<cuda::ForAll<cuda::Observe>>({.scaler = &core, .scaled = 1, .steps = 1}, 0);
      const rule::Stepped stepped = rule::advance(expected.policy, expected.state, overflow, expected.counters);
      wrong += rule::scale_of(core.running.policy.id, core.running.state) !=
               rule::scale_of(expected.policy.id, expected.state);
      wrong += core.running.counters.skipped != expected.counters.skipped;
      wrong += core.shown.found_inf != 0 || core.shown.noop != 0 || core.checked != 0;
      wrong += core.last_step.count != 100 || std::isfinite(core.last_step.max_abs) == overflow;
      wrong += core.shown.inverse_scale != rule::inverse_of(rule::scale_of(core.running.policy.id, core.running.state));
      for (std::uint64_t k = 0; k < array.count(); ++k) array.set(k, narrow<Bf16>(1.0f));
      if (stepped.raised != rule::Raised::nothing) {
        wrong += core.raised == rule::Raised::nothing;
        core.raised = rule::Raised::nothing;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("findings of several passes add up until a step, and flags are set in all conventions") {
  std::mt19937_64 random(2);
  ScalerCore core = scaler_of("torch");
  Array fine(Dtype::f32, 10);
  Array broken(Dtype::f32, 20);
  broken.set(7, bits_of(NAN));
  const Tensor tensors[] = {fine.tensor(), broken.tensor()};
  SimulatedList first(random, 2);
  SimulatedList second(random, 2);
  first.assign(tensors, 1, nullptr);
  second.assign(tensors + 1, 1, nullptr);
  ListCore first_core;
  ListCore second_core;
  first.run<cuda::ForAll<cuda::Observe>>({.list = &first_core, .scaler = &core, .scaled = 1}, 0);
  CHECK(core.shown.found_inf == 0);
  second.run<cuda::ForAll<cuda::Observe>>({.list = &second_core, .scaler = &core, .scaled = 1}, 0);
  CHECK(first_core.shown.found_inf == 0);
  CHECK(first_core.shown.noop == 0);
  CHECK(first_core.shown.multiplier == 1.0f / 65536);
  CHECK(second_core.shown.found_inf == 1);
  CHECK(second_core.shown.noop == 1);
  CHECK(core.shown.found_inf == 1);
  CHECK(core.shown.noop == 1);
  CHECK(core.accumulated.count == 30);
  CHECK(core.accumulated.zeros == 29);
  command(core, cuda::Command::step);
  CHECK(core.running.counters.skipped == 1);
  CHECK(core.shown.scale == 32768);
  CHECK(core.shown.found_inf == 0);
  CHECK(core.last_step.count == 30);
}

TEST_CASE("clipping by norm takes the norm of the whole list, unscaled, as torch does") {
  std::mt19937_64 random(3);
  ScalerCore core = scaler_of("torch");
  Array array(Dtype::f32, 2);
  array.set(0, bits_of(3.0f * 65536));
  array.set(1, bits_of(-4.0f * 65536));
  const Tensor tensor = array.tensor();
  SimulatedList list(random, 1);
  list.assign(&tensor, 1, nullptr);
  ListCore own;
  list.run<cuda::ForAll<cuda::Observe>>({.list = &own, .scaler = &core, .clip_norm = 2.5, .scaled = 1}, 0);
  CHECK(own.coefficient == static_cast<float>(2.5 / (5.0 + 1e-6)));
  CHECK(own.shown.multiplier == own.coefficient / 65536);
}

TEST_CASE("what a rule raises is kept until it is told, the first of several") {
  ScalerCore core = scaler_of("torch");
  command(core, cuda::Command::step);  // nothing was looked at
  CHECK(core.raised == rule::Raised::no_inf_checks);
  command(core, cuda::Command::put_scale, 0, 1e300);
  CHECK(core.raised == rule::Raised::no_inf_checks);
  command(core, cuda::Command::forget_raised);
  CHECK(core.raised == rule::Raised::nothing);
  command(core, cuda::Command::report, 1);
  command(core, cuda::Command::step);
  CHECK(core.raised == rule::Raised::nothing);
  CHECK(core.shown.scale == 32768);
  command(core, cuda::Command::put_scale, 0, 512);
  CHECK(core.shown.inverse_scale == 1.0f / 512);
}

TEST_CASE("an empty list is a step too") {
  std::mt19937_64 random(4);
  ScalerCore core = scaler_of("torch");
  SimulatedList list(random, 1);
  list.assign(nullptr, 0, nullptr);
  list.run<cuda::ForAll<cuda::Observe>>({.scaler = &core, .scaled = 1, .steps = 1}, 0);
  CHECK(core.running.counters.steps == 1);
  CHECK(core.running.counters.skipped == 0);
}
