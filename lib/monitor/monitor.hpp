// What a run's tensors are like, step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/launch.hpp"
#include "lib/monitor/config.hpp"
#include "lib/monitor/line_file.hpp"
#include "lib/monitor/summary.hpp"

namespace tare::monitor {

struct Observed {
  std::string group;
  std::string name;
  Dtype dtype = Dtype::f32;
  Summary summary;
};

/// A step that was looked at; a step that has none yet is the one under way.
struct ObservedStep {
  std::int64_t step = 0;
  std::vector<Observed> tensors;
};

class Monitor {
 public:
  explicit Monitor(Config config);

  /// Notes tensors of the step under way, at once, where it is one that is looked at; else they are not touched.
  /// `names` are as many as the tensors. Throws as require_usable does, and then nothing is noted.
  void observe(const std::string& group, std::span<const std::string> names, std::span<const kernels::Tensor> tensors);

  /// Ends the step under way, whose number this is: what was noted goes to the sinks.
  void step(std::int64_t number);

  /// "tare.monitor/1": the last step that was looked at, and what is wrong with sinks.
  [[nodiscard]] std::string report() const;

 private:
  [[nodiscard]] bool looks() const { return steps_ % every_ == 0; }

  std::int64_t every_;
  std::vector<LineFile> sinks_;
  std::int64_t steps_ = 0;  ///< that ended
  std::vector<Observed> under_way_;
  std::optional<ObservedStep> last_;
};

}  // namespace tare::monitor
