#include "lib/checkpoint/far_apart.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>

#include "lib/base/text.hpp"

namespace tare {
namespace {

/// Losses of one model seldom differ more than a thousandfold.
constexpr double far = 1024;

struct Extremes {
  const Scaler* least = nullptr;
  const Scaler* most = nullptr;
};

/// Nothing that multiplies no loss; broken scales are told of by themselves.
double loss_scale_of(const Scaler& scaler) {
  const FoundScaler& state = scaler.state();
  const Field* scale = state.find(Role::scale);
  if (state.dialect->kind == "fp8" || scale == nullptr || scale->value.number() == nullptr) return 0;
  const double value = scale->value.as_double();
  return std::isfinite(value) ? value : 0;
}

}  // namespace

void tell_of_scales_far_apart(const std::vector<Scaler>& scalers, std::vector<Finding>& findings) {
  std::map<std::string_view, Extremes> dialects;
  for (const Scaler& scaler : scalers) {
    const double scale = loss_scale_of(scaler);
    const bool is_chained = !scaler.state().dialect->before_chain_number.empty();  // chained.hpp tells
    if (!(scale > 0) || is_chained) continue;
    auto& [least, most] = dialects[scaler.state().dialect->name];
    if (least == nullptr || scale < loss_scale_of(*least)) least = &scaler;
    if (most == nullptr || scale > loss_scale_of(*most)) most = &scaler;
  }
  for (const auto& [dialect, extremes] : dialects) {
    const double least = loss_scale_of(*extremes.least), most = loss_scale_of(*extremes.most);
    if (most < far * least || extremes.least->state().path == extremes.most->state().path) continue;
    findings.push_back({Severity::note, "scales-far-apart",
                        fmt::format("scale is {}, and {} in {}: {:.0f} octaves apart", float_text(least),
                                    float_text(most), extremes.most->state().path, std::log2(most / least)),
                        "", extremes.least->state().path});
  }
}

}  // namespace tare
