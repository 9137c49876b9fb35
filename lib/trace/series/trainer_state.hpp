// Hugging Face's trainer_state.json: what its Trainer logged up to a checkpoint, a row for each step that was logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/trace/input.hpp"
#include "lib/trace/series/series.hpp"

namespace tare {

/// A document with a log_history. Source: transformers 4 and 5, trainer_callback.py, TrainerState.save_to_json.
bool starts_like_trainer_state(ByteView head);

/// How many steps it tells of; nothing where its first bytes do not say.
std::optional<std::int64_t> last_step_of_trainer_state(ByteView head);

/// The folder that the run writes to: each of its checkpoints has such a file, and the last holds what all tell.
std::string_view folder_of_trainer(std::string_view path);

void read_trainer_state(Input& input, Series& series);

}  // namespace tare
