#include "lib/monitor/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "kernels/dtype.hpp"

namespace tare::monitor {
namespace {

template <class Format>
double widened(typename Format::Bits bits) {
  return static_cast<double>(widen<Format>(bits));
}

/// `stored`: as it lies there.
void note_magnitude(Summary& summary, double stored, double magnitude, double normal) {
  if (stored == 0) {
    ++summary.zeros;
    return;
  }
  if (stored < normal) ++summary.subnormals;
  summary.min_abs = std::min(summary.min_abs, magnitude);
  // The exponent's field; a subnormal double's is 0, and far below the lowest bin.
  const int bin = static_cast<int>(bits_of(magnitude) >> 52) - 1023 - ExponentHistogram::lowest;
  ExponentHistogram& exponents = summary.exponents;
  if (bin < 0) {
    ++exponents.below;
  } else if (bin >= ExponentHistogram::bin_count) {
    ++exponents.above;
  } else {
    ++exponents.bins[static_cast<std::size_t>(bin)];
  }
}

/// Sums of a few hundred values, which two passes over them give exactly enough.
void add_sums(Summary& into, std::span<const double> values) {
  double sum = 0;
  double sum_of_magnitudes = 0;
  for (const double value : values) {
    sum += value;
    sum_of_magnitudes += std::fabs(value);
    into.min = std::min(into.min, value);
    into.max = std::max(into.max, value);
  }
  const auto more = static_cast<double>(values.size());
  const double mean = sum / more;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  // Chan's rule for two samples; `into` counts these values already.
  const auto all = static_cast<double>(into.finite());
  const double difference = mean - into.mean;
  into.squares_about_mean += squares + difference * difference * ((all - more) / all) * more;
  into.mean += difference * (more / all);
  into.mean_abs += (sum_of_magnitudes / more - into.mean_abs) * (more / all);
}

/// `value_of` reads one element; `normal` is the smallest normal number of the dtype.
template <class Bits, class ValueOf>
Summary summary_as(const kernels::Tensor& tensor, double scale, const ValueOf& value_of, double normal) {
  constexpr std::uint64_t block_values = 512;
  const auto* bits = static_cast<const Bits*>(tensor.data);
  std::array<double, block_values> finite;
  Summary summary;
  summary.scale = scale;
  for (std::uint64_t from = 0; from < tensor.count; from += block_values) {
    const std::uint64_t to = std::min(tensor.count, from + block_values);
    std::size_t kept = 0;
    for (std::uint64_t i = from; i < to; ++i) {
      const double value = value_of(bits[i]);
      if (is_finite(value)) {
        finite[kept] = value / scale;
        note_magnitude(summary, std::fabs(value), std::fabs(finite[kept++]), normal);
      } else {
        ++(is_nan(value) ? summary.nans : summary.infinities);
      }
    }
    summary.count = to;
    if (kept != 0) add_sums(summary, {finite.data(), kept});
  }
  if (summary.finite() != 0) summary.max_abs = std::max(std::fabs(summary.min), std::fabs(summary.max));
  return summary;
}

}  // namespace

double Summary::deviation() const {
  return finite() == 0 ? 0 : std::sqrt(squares_about_mean / static_cast<double>(finite()));
}

double Summary::norm() const {
  return std::sqrt(squares_about_mean + mean * mean * static_cast<double>(finite()));
}

Summary summary_of(const kernels::Tensor& tensor, double scale) {
  switch (tensor.dtype) {
    case Dtype::f32:
      return summary_as<float>(
          tensor, scale, [](float value) { return static_cast<double>(value); }, 0x1p-126);
    case Dtype::f64:
      return summary_as<double>(
          tensor, scale, [](double value) { return value; }, 0x1p-1022);
    case Dtype::f16:
      return summary_as<F16::Bits>(tensor, scale, widened<F16>, 0x1p-14);
    case Dtype::bf16:
      return summary_as<Bf16::Bits>(tensor, scale, widened<Bf16>, 0x1p-126);
    case Dtype::f8_e4m3fn:
      return summary_as<F8E4m3fn::Bits>(tensor, scale, widened<F8E4m3fn>, 0x1p-6);
    case Dtype::f8_e5m2:
      return summary_as<F8E5m2::Bits>(tensor, scale, widened<F8E5m2>, 0x1p-14);
  }
  return {};
}

}  // namespace tare::monitor
