#include "lib/monitor/summary.hpp"

#include <cmath>

namespace tare::monitor {

double deviation(const Summary& summary) {
  return summary.finite() == 0 ? 0 : std::sqrt(summary.squares_about_mean / static_cast<double>(summary.finite()));
}

double norm(const Summary& summary) {
  return std::sqrt(summary.squares_about_mean + summary.mean * summary.mean * static_cast<double>(summary.finite()));
}

}  // namespace tare::monitor
