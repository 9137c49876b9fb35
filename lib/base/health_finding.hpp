// What is wrong with a run, wherever that was seen: in its files, or in the run itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/finding.hpp"

namespace tare {

struct HealthFinding {
  Severity severity = Severity::note;
  std::string code = {};                  ///< kebab-case; lib/report/README.md has them all
  std::string message = {};               ///< with the evidence in numbers
  std::string advice = {};                ///< what to do, with the next command; may be empty
  std::string file = {};                  ///< where it began: a log, a checkpoint, a file in it. Not escaped
  std::string path = {};                  ///< inside the checkpoint; the name of a tensor
  std::uint64_t line = 0;                 ///< of a log; 0: none
  std::optional<std::int64_t> step = {};  ///< as the source counts
  std::vector<std::pair<std::string, double>> evidence = {};
};

}  // namespace tare
