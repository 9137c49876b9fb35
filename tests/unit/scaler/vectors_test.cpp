// The frameworks' own traces through the C++ scaler.
#include "tests/vectors.hpp"

#include <catch2/catch.hpp>

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/scaler.hpp"

using namespace tare;

namespace {

class CppScaler final : public vectors::Subject {
 public:
  std::optional<std::string> create(const std::string& config) override {
    return attempt([&] { scaler_ = make_scaler(parse_config(config.c_str())); });
  }
  std::optional<std::string> create_from_state(const std::string& state) override {
    return attempt([&] { scaler_ = make_scaler(parse_config(nullptr, state_from_json(state, "x"))); });
  }
  std::optional<std::string> report_overflow(bool overflow) override {
    return attempt([&] { scaler_->report_overflow(overflow, nullptr); });
  }
  std::optional<std::string> update() override {
    return attempt([&] { scaler_->update(nullptr); });
  }
  std::optional<std::string> set_scale(double scale) override {
    return attempt([&] { scaler_->set_scale(scale, nullptr); });
  }
  std::string state() override { return state_to_json(scaler_->save(nullptr)); }

 private:
  static std::optional<std::string> attempt(const auto& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  }

  std::unique_ptr<LossScaler> scaler_;
};

}  // namespace

TEST_CASE("every trace of every framework comes out the same through the C++ scaler") {
  CppScaler scaler;
  const vectors::Tally tally = vectors::run_all(TARE_TEST_SOURCE "/vectors", scaler);
  CHECK(tally.traces > 200);
  CHECK(tally.steps > 100000);
  CHECK(tally.differences.empty());
}
