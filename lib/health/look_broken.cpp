// A scale that is inf or nan.
#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "lib/health/look.hpp"

namespace tare {

void look_for_broken_scale(const Examination& run, std::vector<Symptom>& found) {
  if (!run.course.broken) return;
  const BrokenScale& broken = *run.course.broken;
  const std::string until = !broken.ended        ? ", to the end"
                            : broken.ended->step ? fmt::format(", until step {}", *broken.ended->step)
                                                 : fmt::format(", until line {}", broken.ended->line);
  const std::string from = broken.before > 0 ? fmt::format("went from {} to", float_text(broken.before)) : "is";
  Symptom symptom{"broken-scale",
                  fmt::format("the scale {} {} ({} step{}{}): no gradient is a number then, and no step is made", from,
                              float_text(broken.scale), broken.steps, broken.steps == 1 ? "" : "s", until),
                  broken.began,
                  {{"steps", static_cast<double>(broken.steps)}}};
  if (broken.before > 0) symptom.evidence.emplace_back("from", broken.before);
  found.push_back(std::move(symptom));
}

}  // namespace tare
