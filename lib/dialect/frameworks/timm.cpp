// timm: torch's scaler in its wrapper's state. Source: timm/utils/{checkpoint_saver,cuda}.py, timm/models/_helpers.py
// (1.0.31).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto timm_places = std::to_array<KeptAt>({
    {"amp_scaler", "", "arch", "timm"},
});
constexpr auto timm_marks = std::to_array<std::string_view>({"arch", "state_dict", "optimizer", "version"});
constexpr auto timm_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "loads a checkpoint without `amp_scaler` and says nothing: an fp16 run starts anew at 65536",
     .source = "timm/models/_helpers.py, resume_checkpoint",
     .was_run = true},
});

}  // namespace

constinit const Trainer timm_trainer = {
    .name = "timm",
    .places = timm_places,
    .marks = timm_marks,
    .resumes = timm_resumes,
};

}  // namespace tare
