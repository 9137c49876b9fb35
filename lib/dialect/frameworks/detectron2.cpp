// detectron2: torch's scaler in the trainer's state, since November 2021. Source: detectron2/engine/{defaults,
// train_loop}.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/run_pointer.hpp"

namespace tare {
namespace {

constexpr auto detectron2_places = std::to_array<KeptAt>({
    {"trainer._trainer.grad_scaler", "", "", "detectron2 (DefaultTrainer)"},
    {"trainer.grad_scaler", "", "", "detectron2 (AMPTrainer)"},
});
constexpr auto detectron2_pointers = std::to_array<RunPointer>({
    {"last_checkpoint", last_part_of_path},
});
constexpr auto detectron2_marks = std::to_array<std::string_view>({"model", "optimizer", "scheduler", "iteration"});
constexpr auto detectron2_resumes = std::to_array<Resume>({
    {.when = "before November 2021",
     .stored = Resume::Stored::no,
     .what = "keeps no scaler with SOLVER.AMP: a resumed run starts anew at 65536",
     .source = "facebookresearch/detectron2#3686",
     .why_read = "PyPI has no release of it"},
});

}  // namespace

constinit const Trainer detectron2_trainer = {
    .name = "detectron2",
    .places = detectron2_places,
    .pointers = detectron2_pointers,
    .marks = detectron2_marks,
    .resumes = detectron2_resumes,
};

}  // namespace tare
