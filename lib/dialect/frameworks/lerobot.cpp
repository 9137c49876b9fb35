// lerobot: a JSON file with torch's five values in the training state of a step, and a link `last` to the step that a
// resume loads. Source: src/lerobot/common/train_utils.py, update_last_checkpoint; huggingface/lerobot pull 4652.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto lerobot_places = std::to_array<KeptAt>({
    {"", "scaler_state.json", "", "lerobot"},
});
constexpr auto lerobot_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::link, "last", "#", "training_state"},
});
constexpr auto lerobot_resumes = std::to_array<Resume>({
    {.when = "before pull 4652",
     .stored = Resume::Stored::no,
     .what = "keeps no scaler: the first updates of a resumed fp16 run go to finding the scale again",
     .helps = "a file training_state/scaler_state.json is read by releases that know it",
     .source = "huggingface/lerobot#4652",
     .was_run = true},
});

}  // namespace

constinit const Trainer lerobot_trainer = {
    .name = "lerobot",
    .places = lerobot_places,
    .runs = lerobot_runs,
    .marked_file = "*training_step.json",
    .resumes = lerobot_resumes,
};

}  // namespace tare
