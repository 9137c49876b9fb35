// Any text as a monitor's configuration, and any bytes as what it sees and as the state that it goes on from: refused
// clearly, or told as JSON. Its files are left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/monitor/monitor.hpp"

using namespace tare;

namespace {

monitor::Config config_of(const std::string& text) {
  try {
    monitor::Config config = monitor::parse_config(text.c_str());
    config.sinks.clear();
    return config;
  } catch (const Error&) {
    return {};  // a refusal is an answer
  }
}

void load(monitor::Monitor& watching, const std::string& text) {
  try {
    watching.load(state_from_json(text, "the state"));
  } catch (const Error&) {
    return;  // likewise
  }
}

}  // namespace

/// The configuration up to a NUL, then halves.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string config = text.substr(0, text.find('\0'));
  const std::string numbers = text.substr(std::min(text.size(), config.size() + 1));
  std::vector<std::uint16_t> halves(numbers.size() / 2 + 1);
  std::memcpy(halves.data(), numbers.data(), numbers.size());
  monitor::Monitor watching(config_of(config));
  load(watching, numbers);
  const std::string name = is_utf8(numbers) ? numbers : "w";
  const auto scaler = make_scaler(parse_config(R"({"policy":"torch","underflow_threshold":1e-6})"));
  for (std::size_t i = 0; i < halves.size() && i < 64; ++i) {
    const kernels::Tensor tensor{halves.data() + i, halves.size() - i, Dtype::f16, 0};
    const auto gradients = scaler->make_grads({&tensor, 1});
    gradients->observe_and_update(nullptr);
    watching.add_gradients(*gradients, {&name, 1}, nullptr);
    watching.observe("exp_avg_sq", {&name, 1}, {&tensor, 1});
    watching.observe("gradients", {&name, 1}, {&tensor, 1}, std::ldexp(1.0, halves[i] % 2000 - 1000));
    if (watching.looks_at("gradients", name)) watching.observe_again("inputs", name, "gradients", name);
    watching.step(static_cast<std::int16_t>(halves[i]));
  }
  const Dtype format = std::array{Dtype::f16, Dtype::bf16, Dtype::f8_e5m2, Dtype::f8_e4m3fn}[halves[0] % 4];
  const ScalerState saved = watching.save();
  watching.load(saved);
  if (state_to_json(watching.save()) != state_to_json(saved)) __builtin_trap();
  json::parse(watching.report(), "the report", Status::internal);
  json::parse(watching.at_scale(std::ldexp(1.0, halves[0] % 2000 - 1000), name_of(format)), "the tensors",
              Status::internal);
  json::parse(watching.findings(), "the findings", Status::internal);
  return 0;
}
