// What a resume of this trainer and release will do with the state: the trainers' tables, applied to a checkpoint.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/dialect/found.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {

/// A trainer that a file tells of.
struct SeenTrainer {
  const Trainer* trainer = nullptr;
  std::string version = {};              ///< of what saved the file; empty where it does not say
  std::vector<const Resume*> rows = {};  ///< those whose conditions the file meets
};

/// By the scalers' places and dialects, by the keys of checkpoints that hold none, else by a row's own conditions.
std::vector<SeenTrainer> trainers_of(const Tree& tree, const FileContext& file, const FoundScalers& scalers);

/// Notes `resume`: for each trainer the rows of its table that apply. `seen` is that of all files of a checkpoint;
/// `has_scaler`, whether any of them holds one.
std::vector<Finding> told_of_resumes(std::span<const SeenTrainer> seen, bool has_scaler);

/// How the release that saved the file grows a scale of that dialect, where releases differ and the file tells which it
/// was.
std::optional<Growth> growth_of_release(const Tree& tree, const Dialect& dialect);

}  // namespace tare
