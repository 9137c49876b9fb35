// Text of OpenMetrics, which Prometheus reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/health_finding.hpp"

namespace tare {

/// Families of samples that all bear the label `run`.
class OpenMetrics {
 public:
  /// What all of tare's begin with.
  static constexpr std::string_view beginning = "# TYPE tare_";

  explicit OpenMetrics(std::string_view run) : run_(label(run)) {}

  /// A label's value, escaped.
  static std::string label(std::string_view text);

  void family(std::string_view name, std::string_view type, std::string_view help);
  /// `more`: other labels, each with a comma in front.
  void sample(std::string_view name, double value, std::string_view more = {});
  /// Nothing: no family.
  void gauge(std::string_view name, std::string_view help, const std::optional<double>& value);
  /// Its sample is called `name`_total.
  void counter(const std::string& name, std::string_view help, std::uint64_t value);
  /// How many are wrong now, by severity and by code.
  void findings(std::span<const HealthFinding> findings);

  std::string take() { return text_ + "# EOF\n"; }

 private:
  std::string run_, text_;
};

}  // namespace tare
