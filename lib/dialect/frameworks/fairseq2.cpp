// fairseq2: a tree for each step, with the scaler in the trainer's file of each rank; the highest step is resumed from.
// Source: src/fairseq2/checkpoint/manager.py (027bdeb).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto fairseq2_places = std::to_array<KeptAt>({
    {"_fp16_loss_scaler.grad_scaler", "", "", "fairseq2", Authority::own_rank},
});
constexpr auto fairseq2_rank_words = std::to_array<RankWord>({
    {"sdp", true},
});
constexpr auto fairseq2_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "step_#", {}, "trainer"},
});
constexpr auto fairseq2_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::yes,
     .what = "may stop at the first step of a resumed FSDP run: \"Attempted unscale_ but _scale is None\"",
     .source = "facebookresearch/fairseq2#1346, open",
     .why_read = "its thread knows no way to bring it about"},
});

}  // namespace

constinit const Trainer fairseq2_trainer = {
    .name = "fairseq2",
    .places = fairseq2_places,
    .rank_words = fairseq2_rank_words,
    .runs = fairseq2_runs,
    .resumes = fairseq2_resumes,
};

}  // namespace tare
