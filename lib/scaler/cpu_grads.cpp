#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/scaler/cpu_scaler.hpp"
#include "lib/scaler/lists.hpp"
#include "lib/scaler/statistics.hpp"

namespace tare {

CpuGrads::CpuGrads(CpuScaler& scaler, std::span<const kernels::Tensor> tensors)
    : scaler_(scaler),
      list_(scaler.backend_.make_list()),
      tensors_(tensors.begin(), tensors.end()),
      seen_each_(tensors.size()) {
  require_usable(tensors, kernels::Use::read);
  writable_ = !kernels::find_defect(tensors, kernels::Use::write);
  list_->assign(tensors.data(), tensors.size(), nullptr);
  scaler_.grads_.push_back(this);
}

CpuGrads::~CpuGrads() {
  std::erase(scaler_.grads_, this);
}

void CpuGrads::follow_reduced() {
  kernels::follow_reduced(core_, scaler_.core_);
}

void CpuGrads::rebind(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(tensors, kernels::Use::read);
  if (!list_->rebind(tensors.data(), tensors.size(), stream)) refuse_other_shape();
  std::ranges::copy(tensors, tensors_.begin());
}

void CpuGrads::require_writable() const {
  if (!writable_) require_usable(tensors_, kernels::Use::write);
}

template <class Pass>
void CpuGrads::run(bool scaled, double clip_norm, const Pass& pass) {
  scaler_.require_own_process();
  kernels::Statistics seen;
  float found_inf = 0;
  pass(kernels::Findings{&found_inf, &seen, seen_each_.data(), scaler_.threshold_});
  kernels::note_findings(core_, seen, scaled ? scaler_.core_.shown.inverse_scale : 1.0f, clip_norm);
  kernels::add_findings(scaler_.core_, seen, found_inf != 0);
}

void CpuGrads::unscale(kernels::Stream stream) {
  require_writable();
  run(true, 0,
      [&](const kernels::Findings& findings) { list_->unscale(&scaler_.core_.shown.inverse_scale, findings, stream); });
}

void CpuGrads::observe(kernels::Stream stream) {
  run(true, 0, [&](const kernels::Findings& findings) { list_->observe(findings, stream); });
}

void CpuGrads::unscale_and_update(kernels::Stream stream) {
  unscale(stream);
  scaler_.update(stream);
}

void CpuGrads::observe_and_update(kernels::Stream stream) {
  observe(stream);
  scaler_.update(stream);
}

void CpuGrads::write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream) {
  require_fitting(tensors_, outputs);
  const WriteOptions& wanted = options_.parsed(options);
  kernels::Transform transform;
  if (wanted.unscale) transform.inverse_scale = &scaler_.core_.shown.inverse_scale;
  if (wanted.clip_norm > 0) transform.coefficient = &core_.coefficient;
  if (wanted.clip_value > 0) transform.limit = static_cast<float>(wanted.clip_value);
  const auto pass = [&](const kernels::Findings& findings) {
    list_->write(outputs.data(), transform, findings, stream);
  };
  if (wanted.clip_norm > 0) {
    run(wanted.unscale, wanted.clip_norm, [&](const kernels::Findings& findings) { list_->observe(findings, stream); });
    pass({});  // seen by the first pass
  } else {
    run(wanted.unscale, 0, pass);
  }
}

const void* CpuGrads::pointer(Shown which) const {
  if (which == Shown::scale || which == Shown::inverse_scale) return scaler_.pointer(which);
  return pointer_to(core_.shown, which);
}

std::string CpuGrads::statistics(kernels::Stream) const {
  return statistics_json(GradsReport{core_.shown.found_inf != 0, scaler_.threshold_, core_.seen, seen_each_});
}

}  // namespace tare
