// What is shown after a caller's own reduction of found-inf: every rank skips, or none.
#include <cmath>

#include "lib/scaler/scaler.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

template <class T, class From>
T shown(const From& from, Shown which) {
  return *static_cast<const T*>(from.pointer(which));
}

/// What another rank's overflow leaves in the accumulators.
void reduce_to(LossScaler& scaler, float found_inf) {
  *static_cast<float*>(scaler.accumulators().data) = found_inf;
}

struct Ranks {
  std::unique_ptr<LossScaler> scaler = make_scaler(parse_config(R"({"policy":"torch","initial_scale":4})"));
  float values[3] = {1, 2, 3};
  kernels::Tensor first{values, 2, Dtype::f32, 0};
  kernels::Tensor second{values + 2, 1, Dtype::f32, 0};
  std::unique_ptr<Grads> one = scaler->make_grads({&first, 1});
  std::unique_ptr<Grads> other = scaler->make_grads({&second, 1});

  void observe() {
    one->observe(nullptr);
    other->observe(nullptr);
  }
};

}  // namespace

TEST_CASE_METHOD(Ranks, "after a reduction noop and every list say what found-inf says, until the update") {
  observe();
  for (const float reduced : {1.0f, 2.0f, NAN}) {  // MAX, SUM, and a sum that went wrong
    reduce_to(*scaler, reduced);
    CHECK(shown<std::int32_t>(*scaler, Shown::noop) == 0);
    scaler->report_reduced(nullptr);
    CHECK(shown<std::int32_t>(*scaler, Shown::noop) == 1);
    for (const auto* grads : {one.get(), other.get()}) {
      CHECK(shown<float>(*grads, Shown::found_inf) == 1);
      CHECK(shown<std::int32_t>(*grads, Shown::noop) == 1);
    }
    scaler->update(nullptr);
    CHECK(shown<std::int32_t>(*scaler, Shown::noop) == 0);
    observe();
    CHECK(shown<float>(*one, Shown::found_inf) == 0);
  }
  CHECK(scaler->scale(nullptr) == 0.5);
}

TEST_CASE_METHOD(Ranks, "where no rank had an overflow, nothing skips after the reduction") {
  observe();
  scaler->report_reduced(nullptr);
  CHECK(shown<std::int32_t>(*scaler, Shown::noop) == 0);
  CHECK(shown<float>(*one, Shown::found_inf) == 0);
  CHECK(shown<std::int32_t>(*other, Shown::noop) == 0);
}

TEST_CASE_METHOD(Ranks, "passes and reports after a reduction show it, too") {
  reduce_to(*scaler, 1);
  one->observe(nullptr);
  CHECK(shown<std::int32_t>(*scaler, Shown::noop) == 1);
  scaler->update(nullptr);
  reduce_to(*scaler, 1);
  scaler->report_overflow(false, nullptr);
  CHECK(shown<std::int32_t>(*scaler, Shown::noop) == 1);
}

TEST_CASE_METHOD(Ranks, "a list that is gone is not told of a reduction") {
  observe();
  other.reset();
  reduce_to(*scaler, 1);
  scaler->report_reduced(nullptr);
  CHECK(shown<std::int32_t>(*one, Shown::noop) == 1);
}

TEST_CASE_METHOD(Ranks, "a list whose found-inf was reduced alone tells its scaler, and other lists stay") {
  for (const float reduced : {1.0f, 3.0f, NAN}) {
    observe();
    REQUIRE(one->accumulators().bytes == sizeof reduced);
    *static_cast<float*>(one->accumulators().data) = reduced;
    one->report_reduced(nullptr);
    other->report_reduced(nullptr);
    CHECK(shown<std::int32_t>(*one, Shown::noop) == 1);
    CHECK(shown<std::int32_t>(*other, Shown::noop) == 0);
    CHECK(shown<float>(*other, Shown::found_inf) == 0);
    CHECK(shown<float>(*scaler, Shown::found_inf) == 1);
    CHECK(shown<std::int32_t>(*scaler, Shown::noop) == 1);
    scaler->update(nullptr);
  }
  CHECK(scaler->scale(nullptr) == 0.5);
}

TEST_CASE_METHOD(Ranks, "a list that no rank had an overflow in skips nothing after its reduction") {
  observe();
  one->report_reduced(nullptr);
  CHECK(shown<std::int32_t>(*one, Shown::noop) == 0);
  CHECK(shown<std::int32_t>(*scaler, Shown::noop) == 0);
}
