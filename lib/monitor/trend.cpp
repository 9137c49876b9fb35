#include "lib/monitor/trend.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tare::monitor {
namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// n (n - 1) (2n + 5), of which the variance of Kendall's sum is made: of all points, and less of each set of equal
/// ones.
double weight_of(double n) {
  return n * (n - 1) * (2 * n + 5);
}

double variance_of(std::span<const TrendPoint> points) {
  std::vector<double> values;
  values.reserve(points.size());
  for (const TrendPoint& point : points) values.push_back(point.value);
  std::ranges::sort(values);
  double weight = weight_of(static_cast<double>(values.size()));
  for (auto from = values.begin(); from != values.end();) {
    const auto to = std::upper_bound(from, values.end(), *from);
    weight -= weight_of(static_cast<double>(to - from));
    from = to;
  }
  return weight / 18;
}

}  // namespace

Trend trend_of(std::span<const TrendPoint> points) {
  if (points.size() < least_trend_points) return {};
  std::vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  double rises = 0;  // pairs that rise, less those that fall
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double rise = points[j].value - points[i].value;
      rises += rise > 0 ? 1 : rise < 0 ? -1 : 0;
      slopes.push_back(rise / static_cast<double>(points[j].step - points[i].step));
    }
  }
  const double variance = variance_of(points);
  if (variance <= 0) return {0, 0.5};  // all are equal
  const double towards_zero = rises > 0 ? rises - 1 : rises < 0 ? rises + 1 : 0;
  return {median(slopes), 0.5 * std::erfc(-towards_zero / std::sqrt(2 * variance))};
}

}  // namespace tare::monitor
