// The frameworks' own FP8 traces through the C ABI.
#include "tests/fp8_vectors.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

#include <tare/tare.h>

namespace {

class CSlots final : public tare::fp8_vectors::Subject {
 public:
  ~CSlots() override { tare_fp8_destroy(fp8_); }
  void create_from_state(const std::string& text) override {
    tare_fp8_destroy(fp8_);
    fp8_ = nullptr;
    tare_state* state = nullptr;
    require(tare_state_from_json(&state, text.data(), text.size(), &error_));
    const int32_t status = tare_fp8_create_from_state(&fp8_, state, nullptr, &error_);
    tare_state_destroy(state);
    require(status);
  }
  void see(float amax) override {
    void* amaxes = nullptr;
    uint64_t bytes = 0;
    require(tare_fp8_accumulators(&amaxes, &bytes, fp8_, &error_));
    REQUIRE(bytes == 2 * sizeof(float));
    static_cast<float*>(amaxes)[0] = static_cast<float*>(amaxes)[1] = amax;
  }
  void update() override { require(tare_fp8_update(fp8_, nullptr, &error_)); }
  std::string state() override {
    tare_state* state = nullptr;
    tare_text* text = nullptr;
    require(tare_fp8_save(&state, fp8_, nullptr, &error_));
    require(tare_state_to_json(&text, state, &error_));
    std::string json = tare_text_data(text);
    tare_text_destroy(text);
    tare_state_destroy(state);
    return json;
  }

 private:
  void require(int32_t status) {
    INFO(error_.message);
    REQUIRE(status == TARE_OK);
  }

  tare_fp8* fp8_ = nullptr;
  tare_error error_ = TARE_ERROR_INIT;
};

}  // namespace

TEST_CASE("every FP8 trace of every framework comes out the same through the C ABI") {
  CSlots slots;
  const tare::fp8_vectors::Tally tally = tare::fp8_vectors::run_all(TARE_TEST_SOURCE "/vectors", slots);
  CHECK(tally.traces == 579);
  CHECK(tally.steps == 3866);
  CHECK(tally.differences.empty());
}
