#include "lib/trace/text/lone_scales.hpp"

#include "lib/trace/text/doubtful_scale.hpp"
#include "lib/trace/text/lone_words.hpp"

namespace tare {

namespace {

constexpr std::uint64_t least_scales = 3;
constexpr std::string_view end_of_scale_name = "cale";  // every name of a scale has it

}  // namespace

void LoneScales::take(std::string_view line, const TraceStep& step) {
  const auto told = step.after ? step.after : step.smoothed;  // 0.0 may be a small one, rounded
  if (!told) return;
  const double value = *told;
  const std::string words = words_before(line, end_of_scale_name);
  if (told_ == 0) {
    if (!may_begin_as_scale(value)) return;
    words_ = words;
  }
  if (words != words_) return;
  is_other_ = is_other_ || !may_go_on_as_scale(value);
  moves_ += told_ > 0 && value != last_ ? 1 : 0;
  ++told_;
  last_ = value;
  steps_.push_back(step);
}

bool LoneScales::is_course() const {
  return told_ >= least_scales && moves_ > 0 && !is_other_;
}

}  // namespace tare
