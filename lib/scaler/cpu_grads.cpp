#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/scaler/cpu_scaler.hpp"
#include "lib/scaler/lists.hpp"
#include "lib/scaler/statistics.hpp"

namespace tare {
namespace {

/// As torch's clip_grad_norm_ computes it; nan stays nan.
float clip_coefficient(double clip_norm, double norm) {
  constexpr double torch_epsilon = 1e-6;
  const double coefficient = clip_norm / (norm + torch_epsilon);
  return static_cast<float>(coefficient > 1.0 ? 1.0 : coefficient);
}

}  // namespace

CpuGrads::CpuGrads(CpuScaler& scaler, std::span<const kernels::Tensor> tensors)
    : scaler_(scaler),
      list_(scaler.backend_.make_list()),
      tensors_(tensors.begin(), tensors.end()),
      seen_each_(tensors.size()) {
  require_usable(tensors, kernels::Use::read);
  list_->assign(tensors.data(), tensors.size(), nullptr);
}

void CpuGrads::rebind(std::span<const kernels::Tensor> tensors, kernels::Stream stream) {
  require_usable(tensors, kernels::Use::read);
  if (!list_->rebind(tensors.data(), tensors.size(), stream)) {
    throw Error(Status::mismatch, "the tensors are not of the counts and dtypes that the list was made with",
                "Make another list.");
  }
  std::ranges::copy(tensors, tensors_.begin());
}

void CpuGrads::require_writable() const {
  require_usable(tensors_, kernels::Use::write);
}

template <class Pass>
void CpuGrads::run(const Pass& pass) {
  scaler_.require_own_process();
  seen_ = {};
  shown_.found_inf = 0;
  pass(kernels::Findings{&shown_.found_inf, &seen_, seen_each_.data(), scaler_.threshold_});
  shown_.noop = shown_.found_inf != 0 ? 1 : 0;
  shown_.multiplier = scaler_.shown_.inverse_scale;
  scaler_.add(seen_, shown_.found_inf);
}

void CpuGrads::unscale(kernels::Stream stream) {
  require_writable();
  run([&](const kernels::Findings& findings) { list_->unscale(&scaler_.shown_.inverse_scale, findings, stream); });
}

void CpuGrads::observe(kernels::Stream stream) {
  run([&](const kernels::Findings& findings) { list_->observe(findings, stream); });
}

void CpuGrads::write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream) {
  require_fitting(tensors_, outputs);
  const char* text = options == nullptr ? "" : options;
  if (options_text_ != text) {
    options_ = parse_write_options(text);
    options_text_ = text;
  }
  coefficient_ = 1;
  if (options_.clip_norm > 0) {
    observe(stream);
    const double unscaling = options_.unscale ? static_cast<double>(scaler_.shown_.inverse_scale) : 1.0;
    coefficient_ = clip_coefficient(options_.clip_norm, std::sqrt(seen_.sum_of_squares) * unscaling);
  }
  kernels::Transform transform;
  if (options_.unscale) transform.inverse_scale = &scaler_.shown_.inverse_scale;
  if (options_.clip_norm > 0) transform.coefficient = &coefficient_;
  if (options_.clip_value > 0) transform.limit = static_cast<float>(options_.clip_value);
  const auto pass = [&](const kernels::Findings& findings) {
    list_->write(outputs.data(), transform, findings, stream);
  };
  if (options_.clip_norm > 0) {
    pass({});  // seen by the first pass
  } else {
    run(pass);
  }
  shown_.multiplier = (options_.unscale ? scaler_.shown_.inverse_scale : 1.0f) * coefficient_;
}

const void* CpuGrads::pointer(Shown which) const {
  if (which == Shown::scale || which == Shown::inverse_scale) return scaler_.pointer(which);
  return shown_.pointer(which);
}

std::string CpuGrads::statistics(kernels::Stream) const {
  return statistics_json(GradsReport{shown_.found_inf != 0, scaler_.threshold_, seen_, seen_each_});
}

}  // namespace tare
