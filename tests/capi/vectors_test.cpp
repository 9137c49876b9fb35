// The frameworks' own traces through the C ABI.
#include "tests/vectors.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

#include <tare/tare.h>

namespace {

class CScaler final : public tare::vectors::Subject {
 public:
  ~CScaler() override { tare_scaler_destroy(scaler_); }
  std::optional<std::string> create(const std::string& config) override {
    tare_scaler_destroy(scaler_);
    return told(tare_scaler_create(&scaler_, config.c_str(), &error_));
  }
  std::optional<std::string> create_from_state(const std::string& text) override {
    tare_scaler_destroy(scaler_);
    scaler_ = nullptr;
    tare_state* state = nullptr;
    if (const auto error = told(tare_state_from_json(&state, text.data(), text.size(), &error_))) return error;
    const auto error = told(tare_scaler_create_from_state(&scaler_, state, nullptr, &error_));
    tare_state_destroy(state);
    return error;
  }
  std::optional<std::string> report_overflow(bool overflow) override {
    return told(tare_scaler_report_overflow(scaler_, overflow ? 1 : 0, nullptr, &error_));
  }
  std::optional<std::string> report_layer(const tare::vectors::Json& statistics) override {
    auto layer = tare::vectors::layer_of<tare_layer>(statistics);
    layer.struct_size = sizeof layer;
    return told(tare_scaler_report_layer(scaler_, &layer, nullptr, &error_));
  }
  std::optional<std::string> update() override {
    const int32_t status = tare_scaler_update(scaler_, nullptr, &error_);
    CHECK((status == TARE_OK || status == TARE_E_RULE));
    return told(status);
  }
  std::optional<std::string> set_scale(double scale) override {
    return told(tare_scaler_set_scale(scaler_, scale, nullptr, &error_));
  }
  std::string state() override {
    tare_state* state = nullptr;
    tare_text* text = nullptr;
    CHECK(tare_scaler_save(&state, scaler_, nullptr, &error_) == TARE_OK);
    CHECK(tare_state_to_json(&text, state, &error_) == TARE_OK);
    std::string json = tare_text_data(text);
    tare_text_destroy(text);
    tare_state_destroy(state);
    return json;
  }

 private:
  std::optional<std::string> told(int32_t status) const {
    if (status == TARE_OK) return std::nullopt;
    CHECK(error_.status == status);
    CHECK(error_.message[0] != '\0');
    return error_.message;
  }

  tare_scaler* scaler_ = nullptr;
  tare_error error_ = TARE_ERROR_INIT;
};

}  // namespace

TEST_CASE("every trace of every framework comes out the same through the C ABI") {
  CScaler scaler;
  const tare::vectors::Tally tally = tare::vectors::run_all(TARE_TEST_SOURCE "/vectors", scaler);
  CHECK(tally.traces > 200);
  CHECK(tally.steps > 100000);
  CHECK(tally.differences.empty());
}
