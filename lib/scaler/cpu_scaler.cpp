#include "lib/scaler/cpu_scaler.hpp"

#include <unistd.h>

#include "lib/base/error.hpp"
#include "lib/scaler/lists.hpp"
#include "lib/scaler/statistics.hpp"

namespace tare {
namespace {

[[noreturn]] void raise(const rule::Policy& policy, rule::Raised raised) {
  throw Error(Status::rule_raised,
              "policy \"" + std::string(rule::spec_of(policy.id).name) + "\": " + rule::message_of(policy, raised));
}

}  // namespace

const void* ShownValues::pointer(Shown which) const {
  switch (which) {
    case Shown::scale:
      return &scale;
    case Shown::inverse_scale:
      return &inverse_scale;
    case Shown::found_inf:
      return &found_inf;
    case Shown::noop:
      return &noop;
    case Shown::multiplier:
      return &multiplier;
  }
  throw Error(Status::invalid_argument, "there is no pointer " + std::to_string(static_cast<std::int32_t>(which)),
              "1 to 5, see TARE_POINTER_SCALE.");
}

CpuScaler::CpuScaler(const ScalerConfig& config)
    : running_(config.start),
      threshold_(config.underflow_threshold),
      threads_(config.threads),
      owner_(getpid()),
      backend_(config.threads),
      list_(backend_.make_list()) {
  show_scale();
}

double CpuScaler::scale(kernels::Stream) const {
  return rule::scale_of(running_.policy.id, running_.state);
}

Accumulators CpuScaler::accumulators() const {
  return {const_cast<float*>(&shown_.found_inf), sizeof shown_.found_inf};
}

void CpuScaler::require_own_process() const {
  if (threads_ == 1 || getpid() == owner_) return;
  throw Error(Status::refused, "the scaler was made in another process, and its threads are there",
              "After fork, make a new scaler.");
}

void CpuScaler::add(const kernels::Statistics& seen, float found_inf) {
  kernels::merge(accumulated_, seen);
  checked_ = true;
  if (found_inf == 0) return;
  shown_.found_inf = 1;
  shown_.noop = 1;
}

void CpuScaler::unscale(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(tensors, kernels::Use::write);
  require_own_process();
  kernels::Statistics seen;
  float found_inf = 0;
  list_->assign(tensors.data(), tensors.size(), stream);
  list_->unscale(&shown_.inverse_scale, {&found_inf, &seen, nullptr, threshold_}, stream);
  add(seen, found_inf);
}

void CpuScaler::observe(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(tensors, kernels::Use::read);
  require_own_process();
  kernels::Statistics seen;
  float found_inf = 0;
  list_->assign(tensors.data(), tensors.size(), stream);
  list_->observe({&found_inf, &seen, nullptr, threshold_}, stream);
  add(seen, found_inf);
}

void CpuScaler::report_overflow(bool overflow, kernels::Stream) {
  add({}, overflow ? 1.0f : 0.0f);
}

void CpuScaler::update(kernels::Stream) {
  const bool overflow = shown_.found_inf != 0;  // nan counts
  if (!checked_ && !overflow && running_.policy.id == rule::PolicyId::kTorch) {
    raise(running_.policy, rule::Raised::kNoInfChecks);
  }
  const rule::Stepped stepped = rule::advance(running_.policy, running_.state, overflow, running_.counters);
  show_scale();
  last_step_ = accumulated_;
  clear_accumulated();
  if (stepped.raised != rule::Raised::kNothing) raise(running_.policy, stepped.raised);
}

void CpuScaler::clear_accumulated() {
  accumulated_ = {};
  shown_.found_inf = 0;
  shown_.noop = 0;
  checked_ = false;
}

void CpuScaler::show_scale() {
  const double scale = rule::scale_of(running_.policy.id, running_.state);
  shown_.scale = static_cast<float>(scale);
  shown_.inverse_scale = rule::inverse_of(scale);
  shown_.multiplier = shown_.inverse_scale;
}

void CpuScaler::set_scale(double scale, kernels::Stream) {
  const auto outcome = rule::with_scale(running_.policy, running_.state, scale);
  if (outcome.raised != rule::Raised::kNothing) raise(running_.policy, outcome.raised);
  running_.state = outcome.state;
  show_scale();
}

std::string CpuScaler::statistics(kernels::Stream stream) const {
  return statistics_json(
      {scale(stream), shown_.found_inf != 0, running_.counters, accumulated_, last_step_, threshold_});
}

ScalerState CpuScaler::save(kernels::Stream) const {
  return to_state(running_);
}

void CpuScaler::load(const ScalerState& state, kernels::Stream) {
  load_into(running_, state);
  show_scale();
  clear_accumulated();
  last_step_ = {};
}

std::unique_ptr<Grads> CpuScaler::make_grads(std::span<const kernels::Tensor> tensors) {
  return std::make_unique<CpuGrads>(*this, tensors);
}

std::unique_ptr<LossScaler> make_scaler(const ScalerConfig& config) {
  return std::make_unique<CpuScaler>(config);
}

}  // namespace tare
