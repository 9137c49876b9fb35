// ultralytics: torch's scaler in last.pt, since 8.3.203. Source: ultralytics/engine/trainer.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto ultralytics_places = std::to_array<KeptAt>({
    {"scaler", "", "train_args", "ultralytics"},
});
constexpr auto ultralytics_marks = std::to_array<std::string_view>({"train_args.amp", "optimizer", "version"});
// Source: ultralytics/utils/torch_utils.py, convert_optimizer_state_dict_to_fp16.
constexpr auto ultralytics_halved = std::to_array<std::string_view>({"train_args", "optimizer", "ema"});
constexpr auto ultralytics_resumes = std::to_array<Resume>({
    {.until = "8.3.202",
     .stored = Resume::Stored::no,
     .what = "keeps no scaler: a resumed run starts anew at 65536, which users met as NaN losses",
     .helps = "8.3.203 and later save it, and load a checkpoint that has it under `scaler`",
     .source = "ultralytics/ultralytics#22189",
     .was_run = true},
});

}  // namespace

constinit const Trainer ultralytics_trainer = {
    .name = "ultralytics",
    .places = ultralytics_places,
    .marks = ultralytics_marks,
    .halves_optimizer = ultralytics_halved,
    .version_at = "version",
    .resumes = ultralytics_resumes,
};

}  // namespace tare
