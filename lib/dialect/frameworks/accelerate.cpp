// accelerate: torch's scaler in a file of its own, beside the optimizer. Source: src/accelerate/{checkpointing,
// accelerator}.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto accelerate_rank_words = std::to_array<RankWord>({
    {"random_states", true},
});
constexpr auto accelerate_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "checkpoint_#", "checkpoint_#", "random_states_0.pkl", FileType::folder},
});
constexpr auto accelerate_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::yes,
     .what = "with FSDP2 and fp16 advances the scaler while it loads: a resumed run does not have this state",
     .helps = "load scaler.pt once more after load_state()",
     .source = "huggingface/accelerate#4289, open",
     .was_run = true},
});

}  // namespace

constinit const Trainer accelerate_trainer = {
    .name = "accelerate",
    .rank_words = accelerate_rank_words,
    .runs = accelerate_runs,
    .marked_file = "*optimizer_0/.metadata",
    .resumes = accelerate_resumes,
};

}  // namespace tare
