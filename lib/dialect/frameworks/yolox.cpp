// YOLOX keeps no scaler. Source: yolox/core/trainer.py, save_ckpt.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto yolox_marks = std::to_array<std::string_view>({"start_epoch", "model", "optimizer", "best_ap"});
constexpr auto yolox_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "keeps no scaler: a run resumed with --fp16 starts anew at 65536",
     .source = "yolox/core/trainer.py, save_ckpt",
     .was_run = true},
});

}  // namespace

constinit const Trainer yolox_trainer = {
    .name = "YOLOX",
    .marks = yolox_marks,
    .resumes = yolox_resumes,
};

}  // namespace tare
