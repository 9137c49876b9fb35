// Catalyst: up to 21.12 its AMP engines packed torch's scaler into a checkpoint; since 22.02, whose engines are
// accelerate's, none is. Source: catalyst/engines/amp.py (21.12), catalyst/callbacks/checkpoint.py (22.04).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto catalyst_places = std::to_array<KeptAt>({
    {"scaler", "", "stage_key", "Catalyst"},
});
constexpr auto catalyst_marks =
    std::to_array<std::string_view>({"model_state_dict", "epoch_step", "batch_step", "sample_step"});
constexpr auto catalyst_resumes = std::to_array<Resume>({
    {.when = "from 22.02 on",
     .stored = Resume::Stored::no,
     .what = "keeps no scaler: a resumed fp16 run starts anew at 65536",
     .source = "catalyst/callbacks/checkpoint.py, CheckpointCallback._handle_epoch; catalyst-team/catalyst#991",
     .was_run = true},
    {.when = "from 22.02 on",
     .stored = Resume::Stored::yes,
     .what = "does not look for the scaler that releases up to 21.12 saved: a resumed run starts anew at 65536",
     .source = "catalyst/utils/torch.py, unpack_checkpoint",
     .was_run = true},
});

}  // namespace

constinit const Trainer catalyst_trainer = {
    .name = "Catalyst",
    .places = catalyst_places,
    .marks = catalyst_marks,
    .resumes = catalyst_resumes,
};

}  // namespace tare
