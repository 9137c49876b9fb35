// The library's scaler as the frameworks' traces drive it, on any device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/scaler.hpp"
#include "tests/vectors.hpp"

namespace tare::test {

class LibraryScaler final : public vectors::Subject {
 public:
  explicit LibraryScaler(std::string device) : device_(std::move(device)) {}

  std::optional<std::string> create(const std::string& config) override {
    return attempt([&] {
      vectors::Json given = vectors::Json::parse(config);
      given["device"] = device_;
      scaler_ = make_scaler(parse_config(given.dump().c_str()));
    });
  }
  std::optional<std::string> create_from_state(const std::string& state) override {
    const std::string config = vectors::Json{{"device", device_}}.dump();
    return attempt([&] { scaler_ = make_scaler(parse_config(config.c_str(), state_from_json(state, "x"))); });
  }
  std::optional<std::string> report_overflow(bool overflow) override {
    return attempt([&] { scaler_->report_overflow(overflow, nullptr); });
  }
  std::optional<std::string> report_layer(const vectors::Json& statistics) override {
    const auto layer = vectors::layer_of<rule::LayerStatistics>(statistics);
    return attempt([&] { scaler_->report_layer(layer, nullptr); });
  }
  /// What a GPU's rule raised shows at the next call that waits.
  std::optional<std::string> update() override {
    return attempt([&] {
      scaler_->update(nullptr);
      (void)scaler_->scale(nullptr);
    });
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

  std::string device_;
  std::unique_ptr<LossScaler> scaler_;
};

}  // namespace tare::test
