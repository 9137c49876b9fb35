// Lines that tell a scale and no step: "loss scale: 65536.0". Configurations are printed so, too. They are a run's
// where the same words tell it again and again, and it moves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/trace/steps.hpp"

namespace tare {

class LoneScales {
 public:
  /// `line` holds a scale's name, and what was read of it is in `step`.
  void take(std::string_view line, const TraceStep& step);
  /// Whether what was told is a scale's course.
  [[nodiscard]] bool is_course() const;
  [[nodiscard]] const TraceSteps& steps() const { return steps_; }

 private:
  TraceSteps steps_;
  std::string words_;  ///< the letters of a line up to the name
  double last_ = 0;
  std::uint64_t told_ = 0, moves_ = 0;
  bool is_other_ = false;  ///< a value that no scale has
};

}  // namespace tare
