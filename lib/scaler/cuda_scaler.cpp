#include "lib/scaler/cuda_scaler.hpp"

#include <algorithm>

#include "lib/scaler/lists.hpp"
#include "lib/scaler/live.hpp"
#include "lib/scaler/statistics.hpp"

namespace tare {
namespace {

/// As many optimizers as a step usually has, each with a list of its own.
constexpr std::size_t kMostLists = 8;

tare_cuda_scaler* make_on_device(const tare_cuda_table& cuda, int device, const RunningState& running) {
  tare_cuda_scaler* made = nullptr;
  call_cuda(cuda.scaler_make, &made, device, &running);
  return made;
}

}  // namespace

CudaScaler::CudaScaler(const ScalerConfig& config)
    : cuda_(cuda_library()),
      policy_(config.start.policy),
      threshold_(config.underflow_threshold),
      scaler_(make_on_device(cuda_, config.cuda_device, config.start)) {
  lists_.reserve(kMostLists);
}

kernels::ScalerCore* CudaScaler::core() const {
  return static_cast<kernels::ScalerCore*>(cuda_.scaler_core(scaler_.get()));
}

const void* CudaScaler::pointer(Shown which) const {
  return pointer_to(core()->shown, which);
}

Accumulators CudaScaler::accumulators() const {
  return {&core()->shown.found_inf, sizeof core()->shown.found_inf};
}

kernels::ScalerCore CudaScaler::read(kernels::Stream stream) const {
  kernels::ScalerCore copy;
  call_cuda(cuda_.scaler_read, scaler_.get(), &copy, stream);
  if (copy.raised != rule::Raised::kNothing) raise(copy.running.policy, copy.raised);
  return copy;
}

double CudaScaler::scale(kernels::Stream stream) const {
  const kernels::ScalerCore copy = read(stream);
  return rule::scale_of(copy.running.policy.id, copy.running.state);
}

tare_cuda_pass CudaScaler::pass_of(std::int32_t what) const {
  tare_cuda_pass pass{};
  pass.what = what;
  pass.unscales = 1;
  pass.threshold = threshold_;
  return pass;
}

CudaListHandle CudaScaler::make_list() {
  tare_cuda_list* made = nullptr;
  call_cuda(cuda_.list_make, &made, scaler_.get());
  return CudaListHandle(made);
}

tare_cuda_list* CudaScaler::list_of(std::span<const kernels::Tensor> tensors) {
  for (auto list = lists_.begin(); list != lists_.end(); ++list) {
    std::int32_t same = 0;
    call_cuda(cuda_.list_rebind, list->get(), tensors.data(), tensors.size(), &same);
    if (same == 0) continue;
    std::rotate(lists_.begin(), list, list + 1);
    return lists_.front().get();
  }
  const auto list = unused_list();
  call_cuda(cuda_.list_assign, list->get(), tensors.data(), tensors.size());
  std::rotate(lists_.begin(), list, list + 1);
  return lists_.front().get();
}

std::vector<CudaListHandle>::iterator CudaScaler::unused_list() {
  const auto is_free = [&](const CudaListHandle& list) { return cuda_.list_is_captured(list.get()) == 0; };
  const auto last = std::find_if(lists_.rbegin(), lists_.rend(), is_free);
  if (lists_.size() >= kMostLists && last != lists_.rend()) return std::prev(last.base());
  return lists_.insert(lists_.end(), make_list());
}

void CudaScaler::unscale(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(tensors, kernels::Use::write);
  const tare_cuda_pass pass = pass_of(TARE_CUDA_UNSCALE);
  call_cuda(cuda_.list_pass, list_of(tensors), &pass, stream);
}

void CudaScaler::observe(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(tensors, kernels::Use::read);
  const tare_cuda_pass pass = pass_of(TARE_CUDA_OBSERVE);
  call_cuda(cuda_.list_pass, list_of(tensors), &pass, stream);
}

void CudaScaler::command(const tare_cuda_command& command, kernels::Stream stream) {
  call_cuda(cuda_.scaler_do, scaler_.get(), &command, stream);
}

void CudaScaler::report_overflow(bool overflow, kernels::Stream stream) {
  tare_cuda_command report{};
  report.what = TARE_CUDA_REPORT;
  report.overflow = overflow ? 1 : 0;
  command(report, stream);
}

void CudaScaler::report_reduced(kernels::Stream stream) {
  tare_cuda_command follow{};
  follow.what = TARE_CUDA_FOLLOW_REDUCED;
  command(follow, stream);
}

void CudaScaler::report_layer(const rule::LayerStatistics& layer, kernels::Stream stream) {
  require_layerwise(policy_);
  tare_cuda_command report{};
  report.what = TARE_CUDA_REPORT_LAYER;
  report.layer = &layer;
  command(report, stream);
}

void CudaScaler::update(kernels::Stream stream) {
  tare_cuda_command step{};
  step.what = TARE_CUDA_STEP;
  command(step, stream);
}

void CudaScaler::set_scale(double scale, kernels::Stream stream) {
  require_settable(policy_, scale);  // does not depend on the state: it can be told at once
  tare_cuda_command put{};
  put.what = TARE_CUDA_PUT_SCALE;
  put.scale = scale;
  command(put, stream);
}

std::string CudaScaler::statistics(kernels::Stream stream) const {
  const kernels::ScalerCore copy = read(stream);
  return statistics_json({rule::scale_of(copy.running.policy.id, copy.running.state), copy.shown.found_inf != 0,
                          copy.running.counters, copy.accumulated, copy.last_step, threshold_});
}

ScalerState CudaScaler::save(kernels::Stream stream) const {
  return to_state(read(stream).running);
}

void CudaScaler::load(const ScalerState& state, kernels::Stream stream) {
  RunningState running = read(stream).running;
  load_into(running, state);
  tare_cuda_command take{};
  take.what = TARE_CUDA_TAKE_OVER;
  take.running = &running;
  command(take, stream);
  policy_ = running.policy;
}

std::unique_ptr<Grads> CudaScaler::make_grads(std::span<const kernels::Tensor> tensors) {
  return std::make_unique<CudaGrads>(*this, tensors);
}

}  // namespace tare
