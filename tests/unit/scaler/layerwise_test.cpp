// A layer's scaler: driven by statistics, its gradients divided by all that was put on.
#include <fstream>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/scaler/scaler.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/vectors.hpp"

using namespace tare;
using Catch::Contains;

namespace {

/// The framework's trace whose layers stand behind others: scales of 1 to 16 on what is already scaled by up to 256.
vectors::Json steps_behind_other_layers() {
  std::ifstream file(TARE_TEST_SOURCE "/vectors/layerwise.json");
  const vectors::Json layers = vectors::Json::parse(file);
  for (const auto& trace : layers.at("traces")) {
    if (trace.at("why") == "what the layers before put on counts against the bound") return trace.at("steps");
  }
  FAIL("the trace is gone");
  return {};
}

rule::LayerStatistics statistics_of(const vectors::Json& step) {
  return vectors::layer_of<rule::LayerStatistics>(step.at("statistics"));
}

std::unique_ptr<LossScaler> layer() {
  return make_scaler(parse_config(R"({"policy":"layerwise"})"));
}

float shown(const LossScaler& scaler, Shown which) {
  return *static_cast<const float*>(scaler.pointer(which));
}

}  // namespace

TEST_CASE("a layer's gradients are divided by its scale and those of the layers nearer the loss") {
  const auto scaler = layer();
  int lifted = 0;
  const vectors::Json steps = steps_behind_other_layers();
  for (const vectors::Json& step : steps) {
    scaler->report_layer(statistics_of(step), nullptr);
    scaler->update(nullptr);
    const double scale = vectors::number(step.at("after").at("scale"));
    const double accumulated = vectors::number(step.at("after").at("accumulated"));
    CHECK(scaler->scale(nullptr) == scale);
    CHECK(shown(*scaler, Shown::scale) == scale);
    CHECK(shown(*scaler, Shown::inverse_scale) == 1 / accumulated);
    float gradient = static_cast<float>(3 * accumulated);
    const kernels::Tensor tensor{&gradient, 1, Dtype::f32, 0};
    scaler->unscale({&tensor, 1}, nullptr);
    CHECK(gradient == 3);
    lifted += accumulated != scale;
  }
  CHECK(lifted > 10);
}

TEST_CASE("a layer that was told nothing since its last update keeps its scale") {
  const auto scaler = layer();
  const vectors::Json step = steps_behind_other_layers().at(0);
  scaler->report_layer(statistics_of(step), nullptr);
  scaler->update(nullptr);
  const double scale = scaler->scale(nullptr);
  scaler->report_overflow(true, nullptr);
  scaler->update(nullptr);
  scaler->update(nullptr);
  CHECK(scaler->scale(nullptr) == scale);
  CHECK(integer_of(get(scaler->save(nullptr), "cur_iter"), "") == 1);
}

TEST_CASE("a layer is not told that the layers before it put no scale on") {
  const auto scaler = layer();
  rule::LayerStatistics statistics = statistics_of(steps_behind_other_layers().at(0));
  for (const double prev_scale : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    statistics.prev_scale = prev_scale;
    CHECK_THROWS_WITH(scaler->report_layer(statistics, nullptr), Catch::Contains("prev_scale"));
  }
}

TEST_CASE("what was told of a layer goes when a state is loaded") {
  const auto scaler = layer();
  scaler->report_layer(statistics_of(steps_behind_other_layers().at(0)), nullptr);
  scaler->load(layer()->save(nullptr), nullptr);
  scaler->update(nullptr);
  CHECK(integer_of(get(scaler->save(nullptr), "cur_iter"), "") == 0);
}

TEST_CASE("a layer's scale that is set or bounded keeps what the layers before put on") {
  const auto scaler = layer();
  rule::LayerStatistics statistics = statistics_of(steps_behind_other_layers().at(0));
  statistics.prev_scale = 64;
  scaler->report_layer(statistics, nullptr);
  scaler->update(nullptr);
  scaler->set_scale(4, nullptr);
  CHECK(shown(*scaler, Shown::inverse_scale) == 1.0f / 256);

  const auto bounded = make_scaler(parse_config(R"({"policy":"layerwise","ceiling":2})"));
  bounded->report_layer(statistics, nullptr);
  bounded->update(nullptr);
  CHECK(bounded->scale(nullptr) == 2);
  CHECK(shown(*bounded, Shown::inverse_scale) == 1.0f / 128);
}

TEST_CASE("policies tell what drives them") {
  const vectors::Json policies = vectors::Json::parse(policies_json());
  for (const vectors::Json& policy : policies.at("policies")) {
    CHECK(policy.at("driver") == (policy.at("policy") == "layerwise" ? "statistics" : "overflow"));
  }
}
