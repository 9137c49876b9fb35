// The frameworks' own FP8 traces through the C++ scaler.
#include "tests/fp8_vectors.hpp"

#include "lib/codec/json.hpp"
#include "lib/scaler/fp8_scaler.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace {

class Slots final : public tare::fp8_vectors::Subject {
 public:
  void create_from_state(const std::string& state) override {
    slots_ = tare::make_fp8_scaler(tare::parse_fp8_config(nullptr, tare::state_from_json(state, "a trace")));
  }
  void see(float amax) override {
    auto* amaxes = static_cast<float*>(slots_->accumulators().data);
    amaxes[0] = amaxes[1] = amax;
  }
  void update() override { slots_->update(nullptr); }
  std::string state() override { return tare::state_to_json(slots_->save(nullptr)); }

 private:
  std::unique_ptr<tare::Fp8Scaler> slots_;
};

}  // namespace

TEST_CASE("every FP8 trace of every framework comes out the same through the scaler") {
  Slots slots;
  const tare::fp8_vectors::Tally tally = tare::fp8_vectors::run_all(TARE_TEST_SOURCE "/vectors", slots);
  CHECK(tally.traces == 579);
  CHECK(tally.steps == 3866);
  CHECK(tally.differences.empty());
}
