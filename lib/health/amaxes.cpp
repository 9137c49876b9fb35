#include "lib/health/amaxes.hpp"

#include <algorithm>

#include "lib/dialect/fp8_slots.hpp"
#include "lib/state/fp8_policy.hpp"
#include "lib/trace/overwritten.hpp"

namespace tare {

std::vector<Amaxes> amaxes_of(const Checkpoint& checkpoint) {
  std::vector<Amaxes> tensors;
  for (const Scaler& scaler : checkpoint.scalers) {
    for (const Fp8Slot& slot : fp8_slots(scaler.state())) {
      const std::vector<double> newest_first = slot.history == nullptr ? std::vector<double>{} : slot.history_by_age();
      const auto is_amax = [](double amax) { return amax != 0; };
      const auto oldest = std::find_if(newest_first.rbegin(), newest_first.rend(), is_amax);
      if (oldest == newest_first.rend()) continue;
      tensors.push_back({layer_name(scaler.state()) + " " + slot.role,
                         static_cast<float>(slot.format_max),
                         {oldest, newest_first.rend()}});
    }
  }
  return tensors;
}

Amaxes amaxes_of(const Trace& trace, const std::string& name, Dtype format) {
  Amaxes tensor{name, fp8_largest(format), {}};
  Overwritten overwritten(trace);
  for (const TraceStep& step : trace.steps) {
    if (!overwritten.has(step) && step.after) tensor.values.push_back(static_cast<float>(*step.after));
  }
  return tensor;
}

}  // namespace tare
