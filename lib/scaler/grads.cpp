#include <algorithm>
#include <utility>

#include "lib/scaler/lists.hpp"
#include "lib/scaler/scaler.hpp"
#include "lib/scaler/statistics.hpp"

namespace tare {
namespace {

std::span<const kernels::Tensor> readable(const tare_backend_table& backend, std::span<const kernels::Tensor> tensors) {
  require_usable(backend, tensors, kernels::Use::read);
  return tensors;
}

}  // namespace

Grads::Grads(LossScaler& scaler, std::span<const kernels::Tensor> tensors)
    : scaler_(scaler),
      tensors_(readable(scaler.backend_, tensors).begin(), tensors.end()),
      writable_(!kernels::find_defect(tensors, kernels::Use::write)),
      list_(made_by(scaler.backend_, scaler.backend_.list_make, scaler.scaler_.get())) {
  if (counts_finite()) scaler_.backend_.list_count_finite(list_.get());
  call(scaler_.backend_.list_assign, list_.get(), tensors.data(), tensors.size());
}

void Grads::rebind(std::span<const kernels::Tensor> tensors) {
  std::int32_t same = 0;
  call(scaler_.backend_.list_rebind, list_.get(), readable(scaler_.backend_, tensors).data(), tensors.size(), &same);
  if (same == 0) refuse_other_shape();
  std::ranges::copy(tensors, tensors_.begin());
}

void Grads::run(const tare_backend_pass& pass, kernels::Stream stream) {
  total_is_of_all_ranks_ = scaler_.reduction_ != nullptr && scaler_.reduction_->gradients() == Gradients::sharded;
  scaler_.run(list_.get(), pass, stream);
}

void Grads::pass(std::int32_t what, bool steps, kernels::Stream stream) {
  if (what == TARE_BACKEND_UNSCALE && !writable_) require_usable(scaler_.backend_, tensors_, kernels::Use::write);
  tare_backend_pass pass = scaler_.pass_of(what);
  pass.steps = steps ? 1 : 0;
  run(pass, stream);
}

void Grads::unscale(kernels::Stream stream) {
  pass(TARE_BACKEND_UNSCALE, false, stream);
}

void Grads::observe(kernels::Stream stream) {
  pass(TARE_BACKEND_OBSERVE, false, stream);
}

void Grads::unscale_and_update(kernels::Stream stream) {
  pass(TARE_BACKEND_UNSCALE, true, stream);
}

void Grads::observe_and_update(kernels::Stream stream) {
  pass(TARE_BACKEND_OBSERVE, true, stream);
}

void Grads::write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream) {
  require_fitting(scaler_.backend_, tensors_, outputs);
  const WriteOptions& wanted = options_.parsed(options);
  tare_backend_pass pass = scaler_.pass_of(TARE_BACKEND_WRITE);
  pass.unscales = wanted.unscale ? 1 : 0;
  pass.limit = wanted.clip_value > 0 ? static_cast<float>(wanted.clip_value) : __builtin_inff();
  pass.clip_norm = wanted.clip_norm;
  pass.outputs = outputs.data();
  run(pass, stream);
}

kernels::ListCore& Grads::memory() const {
  return *static_cast<kernels::ListCore*>(scaler_.backend_.list_core(list_.get()));
}

const void* Grads::pointer(Shown which) const {
  if (which == Shown::scale || which == Shown::inverse_scale) return scaler_.pointer(which);
  return pointer_to(memory().shown, which);
}

Accumulators Grads::accumulators() const {
  return {&memory().shown.found_inf, sizeof memory().shown.found_inf};
}

void Grads::report_reduced(kernels::Stream stream) {
  call(scaler_.backend_.list_follow, list_.get(), stream);
}

GradsReport Grads::last_pass(kernels::Stream stream) const {
  kernels::ListCore core;
  std::vector<kernels::Statistics> each(tensors_.size());
  std::vector<kernels::FiniteValues> finite(counts_finite() ? tensors_.size() : 0);
  call(scaler_.backend_.list_read, list_.get(), &core, each.data(), counts_finite() ? finite.data() : nullptr, stream);
  return {core.shown.found_inf != 0, scaler_.threshold_, core.seen,
          std::move(each),           std::move(finite),  total_is_of_all_ranks_};
}

std::string Grads::statistics(kernels::Stream stream) const {
  return statistics_json(last_pass(stream));
}

}  // namespace tare
