#include "lib/scaler/scaler.hpp"

#include "lib/base/error.hpp"
#include "lib/scaler/cpu_scaler.hpp"
#include "lib/scaler/cuda_scaler.hpp"

namespace tare {

const void* pointer_to(const kernels::ShownValues& shown, Shown which) {
  switch (which) {
    case Shown::scale:
      return &shown.scale;
    case Shown::inverse_scale:
      return &shown.inverse_scale;
    case Shown::found_inf:
      return &shown.found_inf;
    case Shown::noop:
      return &shown.noop;
    case Shown::multiplier:
      return &shown.multiplier;
  }
  throw Error(Status::invalid_argument, "there is no pointer " + std::to_string(static_cast<std::int32_t>(which)),
              "1 to 5, see TARE_POINTER_SCALE.");
}

void raise(const rule::Policy& policy, rule::Raised raised) {
  throw Error(Status::rule_raised,
              "policy \"" + std::string(rule::spec_of(policy.id).name) + "\": " + rule::message_of(policy, raised));
}

void require_layerwise(const rule::Policy& policy) {
  const rule::PolicySpec& spec = rule::spec_of(policy.id);
  if (spec.driver == rule::Driver::kStatistics) return;
  throw Error(Status::wrong_kind,
              "policy \"" + std::string(spec.name) + "\" goes by overflows, not by a layer's statistics",
              "Report overflows, or make a scaler of policy \"layerwise\".");
}

std::unique_ptr<LossScaler> make_scaler(const ScalerConfig& config) {
  if (config.cuda_device >= 0) return std::make_unique<CudaScaler>(config);
  return std::make_unique<CpuScaler>(config);
}

}  // namespace tare
