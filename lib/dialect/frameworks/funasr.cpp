// FunASR: torch's scaler beside the model, and a run of files `model.pt.ep1.500` whose newest is written a second time
// as `model.pt`. Source: funasr/train_utils/trainer.py, save_checkpoint and resume_checkpoint (3c58cb5).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto funasr_places = std::to_array<KeptAt>({
    {"scaler_state", "", "saved_ckpts", "FunASR"},
});
constexpr auto funasr_empty_at = std::to_array<EmptyAt>({
    {"scaler_state"},
});
constexpr auto funasr_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::file, "model.pt", "model.pt.*"},
    {RunFolder::Takes::asked, "model.pt.*"},  // without it a run begins anew
});
constexpr auto funasr_marks = std::to_array<std::string_view>({"state_dict", "optimizer", "saved_ckpts"});
constexpr auto funasr_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "loads a checkpoint without `scaler_state` and says nothing: an fp16 run starts anew at 65536",
     .source = "funasr/train_utils/trainer.py, resume_checkpoint",
     .was_run = true},
});

}  // namespace

constinit const Trainer funasr_trainer = {
    .name = "FunASR",
    .places = funasr_places,
    .empty_at = funasr_empty_at,
    .runs = funasr_runs,
    .marks = funasr_marks,
    .resumes = funasr_resumes,
};

}  // namespace tare
