#include "lib/scaler/scaler.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/device/device_memory.hpp"
#include "lib/scaler/lists.hpp"
#include "lib/scaler/live.hpp"
#include "lib/scaler/statistics.hpp"

namespace tare {
namespace {

/// As many optimizers as a step usually has, each with a list of its own.
constexpr std::size_t most_lists = 8;

/// Throws `invalid_argument` where one is not aligned to its four bytes, or two are the same.
void require_apart(std::array<const void*, 3> places) {
  std::ranges::sort(places);
  for (const void* place : places) {
    if (reinterpret_cast<std::uintptr_t>(place) % alignof(float) == 0) continue;
    throw Error(Status::invalid_argument, "scale, growth_tracker or found_inf is not aligned to its 4 bytes");
  }
  if (std::ranges::adjacent_find(places) == places.end()) return;
  throw Error(Status::invalid_argument, "two of scale, growth_tracker and found_inf are in the same place",
              "Give each memory of its own.");
}

void require_layerwise(const rule::Policy& policy) {
  const rule::PolicySpec& spec = rule::spec_of(policy.id);
  if (spec.driver == rule::Driver::statistics) return;
  throw Error(Status::wrong_kind,
              "policy \"" + std::string(spec.name) + "\" goes by overflows, not by a layer's statistics",
              "Report overflows, or make a scaler of policy \"layerwise\".");
}

void require_torch(const rule::Policy& policy) {
  if (policy.id == rule::PolicyId::torch) return;
  throw Error(Status::wrong_kind,
              "policy \"" + std::string(rule::spec_of(policy.id).name) + "\" keeps more than a scale and a tracker",
              "Make a scaler of policy \"torch\", or let this one keep its own state.");
}

tare_backend_command of_kind(std::int32_t what) {
  tare_backend_command command{};
  command.what = what;
  return command;
}

}  // namespace

void raise(const rule::Policy& policy, rule::Raised raised) {
  throw Error(Status::rule_raised,
              "policy \"" + std::string(rule::spec_of(policy.id).name) + "\": " + rule::message_of(policy, raised));
}

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

LossScaler::LossScaler(const ScalerConfig& config)
    : backend_(config.cuda_device >= 0 ? cuda_backend() : cpu_backend()),
      device_(config.cuda_device),
      policy_(config.start.policy),
      threshold_(config.underflow_threshold),
      counts_finite_(config.finite_statistics),
      scaler_(made_by(backend_, backend_.scaler_make,
                      config.cuda_device >= 0 ? config.cuda_device : static_cast<std::int32_t>(config.threads),
                      &config.start)),
      lists_(most_lists) {
  look_for_cuda_driver();
}

kernels::ScalerCore& LossScaler::memory() const {
  return *static_cast<kernels::ScalerCore*>(backend_.scaler_core(scaler_.get()));
}

const void* LossScaler::pointer(Shown which) const {
  return pointer_to(memory().shown, which);
}

Accumulators LossScaler::accumulators() const {
  return {&memory().shown.found_inf, sizeof memory().shown.found_inf};
}

kernels::ScalerCore LossScaler::snapshot(kernels::Stream stream) const {
  kernels::ScalerCore copy;
  call(backend_.scaler_read, scaler_.get(), &copy, stream);
  require_together(copy.parting);
  if (copy.raised != rule::Raised::nothing) raise(copy.running.policy, copy.raised);
  return copy;
}

double LossScaler::scale(kernels::Stream stream) const {
  const kernels::ScalerCore copy = snapshot(stream);
  return rule::scale_of(copy.running.policy.id, copy.running.state);
}

tare_backend_list* LossScaler::list_of(std::span<const kernels::Tensor> tensors) {
  return lists_.find(
      [&](tare_backend_list* list) {
        std::int32_t same = 0;
        call(backend_.list_rebind, list, tensors.data(), tensors.size(), &same);
        return same != 0;
      },
      [&](const tare_backend_list* list) { return backend_.list_is_captured(list) != 0; },
      [&] { return made_by(backend_, backend_.list_make, scaler_.get()); },
      [&](tare_backend_list* list) { call(backend_.list_assign, list, tensors.data(), tensors.size()); });
}

tare_backend_pass LossScaler::pass_of(std::int32_t what) const {
  tare_backend_pass pass{};
  pass.what = what;
  pass.unscales = 1;
  pass.limit = __builtin_inff();
  pass.threshold = threshold_;
  return pass;
}

void LossScaler::run(tare_backend_list* list, const tare_backend_pass& pass, kernels::Stream stream) const {
  std::int32_t number = 0;
  call(backend_.list_pass, list, &pass, &number, stream);
  const auto raised = static_cast<rule::Raised>(number);
  if (raised != rule::Raised::nothing) raise(policy_, raised);
}

void LossScaler::unscale(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(backend_, tensors, kernels::Use::write);
  run(list_of(tensors), pass_of(TARE_BACKEND_UNSCALE), stream);
}

void LossScaler::observe(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(backend_, tensors, kernels::Use::read);
  run(list_of(tensors), pass_of(TARE_BACKEND_OBSERVE), stream);
}

void LossScaler::scale_up(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(backend_, tensors, kernels::Use::write);
  run(list_of(tensors), pass_of(TARE_BACKEND_SCALE), stream);
}

void LossScaler::command(const tare_backend_command& command, kernels::Stream stream) {
  std::int32_t raised = 0;
  call(backend_.scaler_do, scaler_.get(), &command, &raised, stream);
  if (raised != 0) raise(policy_, static_cast<rule::Raised>(raised));
}

void LossScaler::report_overflow(bool overflow, kernels::Stream stream) {
  tare_backend_command report = of_kind(TARE_BACKEND_REPORT);
  report.overflow = overflow ? 1 : 0;
  command(report, stream);
}

void LossScaler::report_reduced(kernels::Stream stream) {
  command(of_kind(TARE_BACKEND_FOLLOW_REDUCED), stream);
}

void LossScaler::set_communicator(std::shared_ptr<Communicator> communicator, Gradients gradients) {
  if (rule::spec_of(policy_.id).driver == rule::Driver::statistics) {
    throw Error(Status::wrong_kind, "policy \"layerwise\" goes by a layer's statistics, which a comm does not reduce",
                "Report the statistics of the whole layer on every rank.");
  }
  if (communicator) communicator->require_device(device_);
  if (snapshot(nullptr).checked != 0) {
    throw Error(Status::refused, "the scaler has looked at gradients since its last update, without these ranks",
                "Give the comm before the step's first call, or after its update.");
  }
  auto reduction = communicator ? std::make_unique<Reduction>(std::move(communicator), gradients) : nullptr;
  const tare_backend_reduction hook = reduction ? reduction->hook() : tare_backend_reduction{};
  call(backend_.scaler_join, scaler_.get(), reduction ? &hook : nullptr);
  reduction_ = std::move(reduction);
}

void LossScaler::report_layer(const rule::LayerStatistics& layer, kernels::Stream stream) {
  require_layerwise(policy_);
  if (!(layer.prev_scale > 0)) {
    throw Error(Status::invalid_argument, "prev_scale is " + float_text(layer.prev_scale) + ": no scale is that",
                "Give \"accumulated\" of the layer nearer the loss, and 1 for the nearest.");
  }
  tare_backend_command report = of_kind(TARE_BACKEND_REPORT_LAYER);
  report.layer = &layer;
  command(report, stream);
}

void LossScaler::update(kernels::Stream stream) {
  command(of_kind(TARE_BACKEND_STEP), stream);
}

void LossScaler::update_elsewhere(const kernels::TorchPlaces& places, kernels::Stream stream) {
  require_torch(policy_);
  require_apart({places.scale, places.growth_tracker, places.found_inf});
  tare_backend_command update = of_kind(TARE_BACKEND_STEP_ELSEWHERE);
  update.elsewhere = &places;
  command(update, stream);
}

void LossScaler::set_scale(double scale, kernels::Stream stream) {
  require_settable(policy_, scale);  // does not depend on the state: it can be told at once
  tare_backend_command put = of_kind(TARE_BACKEND_PUT_SCALE);
  put.scale = scale;
  command(put, stream);
}

ScalerReport LossScaler::report(kernels::Stream stream) const {
  const kernels::ScalerCore copy = snapshot(stream);
  return {rule::scale_of(copy.running.policy.id, copy.running.state),
          copy.shown.found_inf != 0,
          copy.running.counters,
          copy.accumulated,
          copy.last_step,
          threshold_};
}

std::string LossScaler::statistics(kernels::Stream stream) const {
  return statistics_json(report(stream));
}

ScalerState LossScaler::save(kernels::Stream stream) const {
  return to_state(snapshot(stream).running);
}

void LossScaler::load(const ScalerState& state, kernels::Stream stream) {
  RunningState running = snapshot(stream).running;
  load_into(running, state);
  tare_backend_command take = of_kind(TARE_BACKEND_TAKE_OVER);
  take.running = &running;
  command(take, stream);
  policy_ = running.policy;
}

std::unique_ptr<Grads> LossScaler::make_grads(std::span<const kernels::Tensor> tensors) {
  look_for_cuda_driver();
  return std::make_unique<Grads>(*this, tensors);
}

std::unique_ptr<LossScaler> make_scaler(const ScalerConfig& config) {
  return std::make_unique<LossScaler>(config);
}

}  // namespace tare
