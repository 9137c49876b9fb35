// Trends of series that were worked out by hand; scipy's theilslopes gives the same slopes.
#include "lib/monitor/trend.hpp"

#include <cmath>
#include <vector>

#include "tests/catch.hpp"

using namespace tare::monitor;

namespace {

std::vector<TrendPoint> points(const std::vector<double>& values) {
  std::vector<TrendPoint> made;
  for (const double value : values) made.push_back({10 * static_cast<std::int64_t>(made.size()), value});
  return made;
}

bool is_near(double a, double b) {
  return std::fabs(a - b) < 1e-12;
}

}  // namespace

TEST_CASE("a trend is the median slope, and how sure it is comes from the pairs that rise") {
  std::vector<TrendPoint> series = points({1, 3, 2, 2, 5, 4, 7, 2, 9, 8, 6});
  series.back().step = 110;
  const Trend trend = trend_of(series);
  CHECK(trend.slope == 0.0625);
  CHECK(is_near(trend.confidence, 0.9887894649916401));  // 30 pairs more rise than fall, of a variance of 161.33
  for (TrendPoint& point : series) point.value = -point.value;
  CHECK(trend_of(series).slope == -0.0625);
  CHECK(is_near(trend_of(series).confidence, 0.011210535008359897));
}

TEST_CASE("one wild value moves no trend") {
  std::vector<TrendPoint> series = points({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(is_near(trend_of(series).slope, 0.1));
  CHECK(is_near(trend_of(series).confidence, 0.9999584846483368));
  series[4].value = -1e9;
  CHECK(is_near(trend_of(series).slope, 0.1));
  CHECK(trend_of(series).confidence > 0.99);
}

TEST_CASE("what does not move, and what is too short, is no trend") {
  CHECK(trend_of(points(std::vector<double>(50, 0.25))).slope == 0);
  CHECK(trend_of(points(std::vector<double>(50, 0.25))).confidence == 0.5);
  CHECK(trend_of(points({0, 1, 2, 3, 4, 5, 6, 7, 8})).confidence == 0);
  CHECK(trend_of({}).confidence == 0);
}
