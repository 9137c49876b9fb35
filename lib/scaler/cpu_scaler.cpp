#include "lib/scaler/cpu_scaler.hpp"

#include <unistd.h>

#include "lib/base/error.hpp"
#include "lib/scaler/lists.hpp"
#include "lib/scaler/live.hpp"
#include "lib/scaler/statistics.hpp"

namespace tare {

CpuScaler::CpuScaler(const ScalerConfig& config)
    : threshold_(config.underflow_threshold),
      threads_(config.threads),
      owner_(getpid()),
      backend_(config.threads),
      list_(backend_.make_list()) {
  kernels::take_over(core_, config.start);
}

double CpuScaler::scale(kernels::Stream) const {
  return rule::scale_of(core_.running.policy.id, core_.running.state);
}

Accumulators CpuScaler::accumulators() const {
  return {const_cast<float*>(&core_.shown.found_inf), sizeof core_.shown.found_inf};
}

void CpuScaler::require_own_process() const {
  if (threads_ == 1 || getpid() == owner_) return;
  throw Error(Status::refused, "the scaler was made in another process, and its threads are there",
              "After fork, make a new scaler.");
}

void CpuScaler::unscale(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(tensors, kernels::Use::write);
  require_own_process();
  kernels::Statistics seen;
  float found_inf = 0;
  list_->assign(tensors.data(), tensors.size(), stream);
  list_->unscale(&core_.shown.inverse_scale, {&found_inf, &seen, nullptr, threshold_}, stream);
  kernels::add_findings(core_, seen, found_inf != 0);
}

void CpuScaler::observe(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(tensors, kernels::Use::read);
  require_own_process();
  kernels::Statistics seen;
  float found_inf = 0;
  list_->assign(tensors.data(), tensors.size(), stream);
  list_->observe({&found_inf, &seen, nullptr, threshold_}, stream);
  kernels::add_findings(core_, seen, found_inf != 0);
}

void CpuScaler::report_overflow(bool overflow, kernels::Stream) {
  kernels::add_findings(core_, {}, overflow);
}

void CpuScaler::report_reduced(kernels::Stream) {
  kernels::follow_reduced(core_);
  for (CpuGrads* grads : grads_) grads->follow_reduced();
}

void CpuScaler::report_layer(const rule::LayerStatistics& layer, kernels::Stream) {
  require_layerwise(core_.running.policy);
  kernels::add_layer(core_, layer);
}

void CpuScaler::update(kernels::Stream) {
  const rule::Raised raised = kernels::step(core_);
  if (raised != rule::Raised::kNothing) raise(core_.running.policy, raised);
}

void CpuScaler::set_scale(double scale, kernels::Stream) {
  require_settable(core_.running.policy, scale);
  const rule::Raised raised = kernels::put_scale(core_, scale);
  if (raised != rule::Raised::kNothing) raise(core_.running.policy, raised);
}

std::string CpuScaler::statistics(kernels::Stream stream) const {
  return statistics_json({scale(stream), core_.shown.found_inf != 0, core_.running.counters, core_.accumulated,
                          core_.last_step, threshold_});
}

ScalerState CpuScaler::save(kernels::Stream) const {
  return to_state(core_.running);
}

void CpuScaler::load(const ScalerState& state, kernels::Stream) {
  RunningState running = core_.running;
  load_into(running, state);
  kernels::take_over(core_, running);
}

std::unique_ptr<Grads> CpuScaler::make_grads(std::span<const kernels::Tensor> tensors) {
  return std::make_unique<CpuGrads>(*this, tensors);
}

}  // namespace tare
