// torchvision's references (classification, detection, segmentation, video). Source: references/*/train.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto torchvision_marks =
    std::to_array<std::string_view>({"model", "optimizer", "lr_scheduler", "epoch", "args.amp"});
constexpr auto torchvision_resumes = std::to_array<Resume>({
    {.when = "before November 2021",
     .stored = Resume::Stored::no,
     .what = "(the references) keeps no scaler with --amp: a resumed run starts anew at 65536",
     .helps = "newer ones save it, and load a checkpoint that has it under `scaler`",
     .source = "pytorch/vision#4923",
     .why_read = "the references are in no release"},
});

}  // namespace

constinit const Trainer torchvision_trainer = {
    .name = "torchvision",
    .marks = torchvision_marks,
    .resumes = torchvision_resumes,
};

}  // namespace tare
