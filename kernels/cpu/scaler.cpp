#include "kernels/cpu/scaler.hpp"

#include <unistd.h>

namespace tare::kernels::cpu {

CpuScaler::CpuScaler(unsigned threads, const rule::RunningState& running)
    : threads_(threads), owner_(getpid()), backend_(threads) {
  take_over(core_, running);
}

rule::Raised CpuScaler::obey(const Command& command) {
  switch (command.what) {
    case TARE_BACKEND_REPORT:
      report(command.overflow != 0);
      break;
    case TARE_BACKEND_STEP:
      return step(core_);
    case TARE_BACKEND_PUT_SCALE:
      return put_scale(core_, command.scale);
    case TARE_BACKEND_TAKE_OVER:
      take_over(core_, *static_cast<const rule::RunningState*>(command.running));
      break;
    case TARE_BACKEND_REPORT_LAYER:
      add_layer(core_, *static_cast<const rule::LayerStatistics*>(command.layer));
      break;
    case TARE_BACKEND_FOLLOW_REDUCED:
      follow_reduced();
      break;
    case TARE_BACKEND_STEP_ELSEWHERE:
      step_elsewhere(core_, *static_cast<const TorchPlaces*>(command.elsewhere));
      break;
    default:
      throw std::logic_error("no such command");
  }
  return rule::Raised::nothing;
}

void CpuScaler::follow_reduced() {
  kernels::follow_reduced(core_);
  for (ListCore* list : lists_) kernels::follow_reduced(*list, core_);
}

void CpuScaler::join_ranks(std::int32_t what, Statistics& seen, std::int32_t& found_inf) const {
  if (reduction_.join == nullptr) return;
  const tare_backend_findings findings{what, &core_, &seen, &found_inf};
  tare_backend_error error;
  if (reduction_.join(reduction_.context, &findings, &error) == done) return;
  throw Refusal(error.status, error.detail, error.message, error.hint);
}

void CpuScaler::report(bool overflow) {
  Statistics nothing;
  std::int32_t found_inf = overflow ? 1 : 0;
  join_ranks(0, nothing, found_inf);
  add_findings(core_, nothing, found_inf != 0);
}

void CpuScaler::require_own_process() const {
  if (threads_ == 1 || getpid() == owner_) return;
  throw Refusal(refused, 0, "the scaler was made in another process, and its threads are there",
                "After fork, make a new scaler.");
}

ScalerList::ScalerList(CpuScaler& scaler) : scaler_(scaler), list_(scaler.backend_.make_list()) {
  scaler_.lists_.push_back(&core_);
}

ScalerList::~ScalerList() {
  std::erase(scaler_.lists_, &core_);
}

void ScalerList::assign(std::span<const Tensor> tensors) {
  count_ = 0;
  each_.resize(tensors.size());
  finite_.resize(counts_finite_ ? tensors.size() : 0);
  list_->assign(tensors.data(), tensors.size(), nullptr);
  count_ = tensors.size();
  core_ = {};
  each_.assign(tensors.size(), {});
  finite_.assign(counts_finite_ ? tensors.size() : 0, {});
}

bool ScalerList::rebind(std::span<const Tensor> tensors) {
  return tensors.size() == count_ && list_->rebind(tensors.data(), tensors.size(), nullptr);
}

void ScalerList::follow_reduced() {
  take_reduced(scaler_.core_, core_);
}

template <class Run>
void ScalerList::look(const Pass& pass, double clip_norm, const Run& run) {
  Statistics seen;
  float found_inf = 0;
  run(Findings{&found_inf, &seen, each_.data(), pass.threshold, counts_finite_ ? finite_.data() : nullptr});
  std::int32_t of_any_rank = found_inf != 0 ? 1 : 0;
  scaler_.join_ranks(pass.what, seen, of_any_rank);
  note_findings(core_, seen, pass.unscales != 0 ? scaler_.core_.shown.inverse_scale : 1.0f, clip_norm);
  add_findings(scaler_.core_, seen, of_any_rank != 0);
}

rule::Raised ScalerList::run(const Pass& pass) {
  scaler_.require_own_process();
  const float* inverse_scale = &scaler_.core_.shown.inverse_scale;
  switch (pass.what) {
    case TARE_BACKEND_OBSERVE:
      look(pass, 0, [&](const Findings& findings) { list_->observe(findings, nullptr); });
      break;
    case TARE_BACKEND_UNSCALE:
      look(pass, 0, [&](const Findings& findings) { list_->unscale(inverse_scale, findings, nullptr); });
      break;
    case TARE_BACKEND_WRITE:
      write(pass);
      break;
    case TARE_BACKEND_SCALE:
      list_->unscale(&scaler_.core_.shown.scale, {}, nullptr);
      break;
    default:
      throw std::logic_error("no such pass");
  }
  return pass.steps != 0 ? step(scaler_.core_) : rule::Raised::nothing;
}

void ScalerList::write(const Pass& pass) {
  Transform transform;
  if (pass.unscales != 0) transform.inverse_scale = &scaler_.core_.shown.inverse_scale;
  if (pass.clip_norm > 0) transform.coefficient = &core_.coefficient;
  transform.limit = pass.limit;
  const auto into_outputs = [&](const Findings& findings) {
    list_->write(static_cast<const Tensor*>(pass.outputs), transform, findings, nullptr);
  };
  if (pass.clip_norm > 0) {
    look(pass, pass.clip_norm, [&](const Findings& findings) { list_->observe(findings, nullptr); });
    into_outputs({});  // seen by the first pass
  } else {
    look(pass, 0, into_outputs);
  }
}

}  // namespace tare::kernels::cpu
