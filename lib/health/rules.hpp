// All that the doctor looks for, as one table: over traces, and over the states of checkpoints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/health/averages.hpp"
#include "lib/health/course.hpp"
#include "lib/health/losses.hpp"
#include "lib/health/thresholds.hpp"

namespace tare {

enum class LooksAt : std::uint8_t {
  trace,  ///< the course of a run: scales, overflows, losses
  state,  ///< what a checkpoint holds: lib/dialect judges it, and inspect tells it, too
  files,  ///< whether all of a checkpoint is there and agrees: lib/checkpoint
};

std::string_view name(LooksAt what);

struct Symptom;

/// A trace, ready to be looked at. Borrows all of it.
struct Examination {
  const Trace& trace;
  const Course& course;
  const Losses& losses;
  const ScaleAverages& averages;
  const Thresholds& thresholds;
};

struct Rule {
  std::string_view code;
  Severity severity;
  LooksAt looks_at;
  std::string_view meaning;
  std::string_view advice;  ///< names the next command; {healthy} stands for the last checkpoint before the trouble
  /// Of rules over traces; null where another rule's function finds this, too.
  void (*look)(const Examination& run, std::vector<Symptom>& found) = nullptr;
  std::span<const std::string_view> hidden_by = {};  ///< codes that say the same and more
  std::string_view fp8_advice = {};  ///< of FP8 state that is made anew of histories; empty: as `advice`
};

/// What a rule saw in a trace.
struct Symptom {
  std::string_view code;
  std::string message;
  CoursePlace began;
  std::vector<std::pair<std::string_view, double>> evidence;
};

std::span<const Rule> rules();

/// Null for a code that the table lacks.
const Rule* find_rule(std::string_view code);

}  // namespace tare
