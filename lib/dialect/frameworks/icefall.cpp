// icefall: torch's scaler beside the sampler's state. Source: icefall/checkpoint.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto icefall_places = std::to_array<KeptAt>({
    {"grad_scaler", "", "batch_idx_train", "icefall"},
});
constexpr auto icefall_marks = std::to_array<std::string_view>({"batch_idx_train", "model", "optimizer", "sampler"});
constexpr auto icefall_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "loads a checkpoint whose `grad_scaler` is None or not there and says nothing: an fp16 run starts anew",
     .source = "icefall/checkpoint.py, load_checkpoint (0aa7bf0)",
     .why_read = "PyPI has no release of it"},
});

}  // namespace

constinit const Trainer icefall_trainer = {
    .name = "icefall",
    .places = icefall_places,
    .marks = icefall_marks,
    .resumes = icefall_resumes,
};

}  // namespace tare
