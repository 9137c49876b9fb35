// open_clip: torch's scaler under `scaler`. Source: src/open_clip_train/main.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto open_clip_places = std::to_array<KeptAt>({
    {"scaler", "", "name", "open_clip", Authority::every_rank, "state_dict"},
});
constexpr auto open_clip_marks = std::to_array<std::string_view>({"name", "epoch", "state_dict", "optimizer"});
constexpr auto open_clip_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "loads a checkpoint without `scaler` and says nothing: an fp16 run (--precision amp) starts anew at 65536",
     .source = "src/open_clip_train/main.py",
     .was_run = true},
});

}  // namespace

constinit const Trainer open_clip_trainer = {
    .name = "open_clip",
    .places = open_clip_places,
    .marks = open_clip_marks,
    .resumes = open_clip_resumes,
};

}  // namespace tare
