// Lines that tell a loss and no step: "Epoch 1, Batch 10, Loss: 2.3". Of several kinds of them, those of the same words
// that are there most often are the run's.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lib/trace/steps.hpp"

namespace tare {

class LoneLosses {
 public:
  /// `line` holds a loss, and what was read of it is in `step`.
  void take(std::string_view line, const TraceStep& step);
  /// Nothing where no words came again often enough.
  [[nodiscard]] const TraceSteps& steps() const;

 private:
  std::map<std::string, TraceSteps> of_words_;
};

}  // namespace tare
