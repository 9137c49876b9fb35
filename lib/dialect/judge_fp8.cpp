// What is plainly sick about FP8 state: scales that turn every value into inf, nan or 0, and histories that hold such.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/judge_fp8.hpp"
#include "lib/dialect/tare_fp8.hpp"

namespace tare {
namespace {

/// Without numbers that differ from layer to layer: what is said alike of many is told once.
std::string what_holds(const Fp8Slot& slot, std::string_view what) {
  const bool is_one = slot.scale_count() == 1;
  return fmt::format("{}{} {} {}", is_one ? "" : "some scales in ", slot.scale->name, is_one ? "is" : "are", what);
}

}  // namespace

std::vector<Finding> judge_fp8(const FoundScaler& scaler) {
  std::vector<Finding> findings;
  const auto tell = [&](const char* code, std::string message) {
    findings.push_back({Severity::warning, code, std::move(message), "", layer_name(scaler)});
  };
  const std::vector<Fp8Slot> slots = fp8_slots(scaler);
  const bool is_delayed = scaler.dialect->fp8.next_scale != nullptr && !is_tare_fp8(scaler);
  if (slots.empty() && is_delayed) {
    tell("fp8-tensors-unknown",
         "its scales are of no tensors that tare knows: no verb changes them but by their fields");
  }
  const auto is_dead = [](const Fp8Slot& slot) { return summary_of(slot).is_dead(); };
  if (!slots.empty() && std::ranges::all_of(slots, is_dead)) {
    findings.push_back({Severity::note, "history-empty", "its histories hold no amax: no step was made with them", "",
                        layer_name(scaler)});
  }
  for (const Fp8Slot& slot : slots) {
    const Fp8Summary summary = summary_of(slot);
    const bool is_data = slot.use == ScaleUse::stored_data;
    if (summary.scales_not_finite > 0) {
      const std::string what = slot.scale_count() > 1 ? "inf or nan" : float_text(slot.stored());
      tell("scale-not-finite",
           fmt::format("{}: {}: no value that goes through it is a number", slot.role, what_holds(slot, what)));
    }
    if (summary.scales_zero > 0) {
      tell("scale-zero", fmt::format("{}: {}, {}", slot.role, what_holds(slot, "0"),
                                     is_data ? "so that what is stored with it is 0, too"
                                             : "so that every value that goes through it is lost"));
    }
    if (summary.scales_negative > 0) {
      tell("scale-negative",
           fmt::format("{}: {}, so that values change their sign", slot.role, what_holds(slot, "negative")));
    }
    if (summary.not_finite > summary.scales_not_finite) {
      tell("amax-not-finite",
           fmt::format("{}: {} holds inf or nan: values overflowed in the last steps", slot.role, slot.history->name));
    }
  }
  return findings;
}

}  // namespace tare
