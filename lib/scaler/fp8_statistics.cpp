#include <algorithm>
#include <cmath>

#include "lib/codec/json_text.hpp"
#include "lib/scaler/fp8_statistics.hpp"

namespace tare {
namespace {

/// What a slot's history says.
struct Seen {
  float greatest = 0;
  std::int64_t filled = 0;
  std::int64_t not_finite = 0;
};

Seen seen_in(std::span<const float> history) {
  Seen seen;
  for (const float amax : history) {
    seen.not_finite += is_finite(amax) ? 0 : 1;
    seen.filled += amax != 0 ? 1 : 0;
    if (is_finite(amax)) seen.greatest = std::max(seen.greatest, amax);
  }
  return seen;
}

/// How many times the greatest value could double before it is cut off; null where nothing was seen.
json::Json margin_of(float greatest, double scale, float largest) {
  if (greatest == 0 || !(scale > 0)) return {};
  return std::log2(static_cast<double>(largest) / (static_cast<double>(greatest) * scale));
}

json::Json json_of(const Fp8Set& set, std::size_t slot) {
  const auto length = static_cast<std::size_t>(set.parameters.history_length);
  const bool has_history = has(*set.policy, Fp8Array::history);
  const bool divides = kernels::fp8::divides(set.policy->rule);
  const auto scale = static_cast<double>(set.scale[slot]);
  const Seen seen = seen_in(has_history ? std::span(set.history).subspan(slot * length, length)
                                        : std::span(set.amax).subspan(slot, 1));
  json::Members members;
  members.add("slot", static_cast<std::int64_t>(slot));
  if (!set.names.empty()) members.add("name", set.names[slot]);
  members.add("format", fp8_format_name(set.formats[slot]));
  members.add("scale", divides ? 1 / scale : scale);
  members.add("amax", static_cast<double>(set.amax[slot]));
  members.add("max", static_cast<double>(seen.greatest));
  if (has_history) members.add("filled", seen.filled);
  members.add("not_finite", seen.not_finite);
  members.add("margin_bits", margin_of(seen.greatest, divides ? 1 / scale : scale, fp8_largest(set.formats[slot])));
  return members.take();
}

}  // namespace

std::string statistics_json(const Fp8Set& set) {
  constexpr std::size_t usual_bytes = 256;  // of a slot's text
  const auto each_slot = [&](const std::function<void(const json::Json&)>& add) {
    for (std::size_t i = 0; i < set.count(); ++i) add(json_of(set, i));
  };
  json::Members members;
  members.add("schema", "tare.fp8/1");
  members.add("policy", set.policy->name);
  if (has(*set.policy, Fp8Array::history)) members.add("history_length", set.parameters.history_length);
  return json::gathered(
      [&](const json::TextSink& sink) {
        json::write_text(members.take(), {"slots", each_slot}, {}, sink);
      },
      set.count() * usual_bytes);
}

}  // namespace tare
