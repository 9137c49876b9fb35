// The Hugging Face Trainer: torch's scaler in `scaler.pt`, from 4.6 to 4.29 and from 4.49 on: since it trains with
// accelerate (4.30) the scaler is that one's, and was left out. Its arguments say whether it trained in fp16.
// Source: src/transformers/trainer.py of 4.5.1 to 4.57.1.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto transformers_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "checkpoint-#", {}, {}, FileType::folder},
});
constexpr auto transformers_marks = std::to_array<std::string_view>({"fp16", "output_dir"});
/// DeepSpeed keeps a scaler of its own; fairscale's was saved and loaded as before, until 4.35 left it out.
constexpr auto by_accelerate = std::to_array<Condition>({
    {"fp16"},
    {"output_dir", {}, Condition::Is::there},
    {"logging_nan_inf_filter", {}, Condition::Is::there},
    {"deepspeed", {}, Condition::Is::unset},
    {"sharded_ddp", {}, Condition::Is::unset},
});
constexpr std::string_view transformers_needs_gpu = "accelerate's fp16 needs a GPU";
constexpr std::string_view transformers_newer =
    "4.49 and newer save scaler.pt, and load one that lies in the checkpoint";
constexpr auto transformers_resumes = std::to_array<Resume>({
    {.when = "before May 2021",
     .stored = Resume::Stored::no,
     .what = "keeps no scaler of an fp16 run: a resumed one starts anew at 65536",
     .helps = transformers_newer,
     .source = "huggingface/transformers#11663",
     .was_run = true},
    {.since = "4.30.0",
     .until = "4.48.3",
     .stored = Resume::Stored::no,
     .needs = by_accelerate,
     .what = "saves no scaler of an fp16 run, and loads none: a resumed one starts anew at 65536",
     .helps = transformers_newer,
     .source = "huggingface/transformers#34053",
     .why_read = transformers_needs_gpu},
    {.since = "4.30.0",
     .until = "4.48.3",
     .stored = Resume::Stored::yes,
     .needs = by_accelerate,
     .what = "loads no scaler.pt: a run that is resumed with it starts anew at 65536, whatever is edited",
     .helps = transformers_newer,
     .source = "huggingface/transformers#34053",
     .why_read = transformers_needs_gpu},
});

}  // namespace

constinit const Trainer transformers_trainer = {
    .name = "the Hugging Face Trainer",
    .runs = transformers_runs,
    .marks = transformers_marks,
    .marked_file = "*training_args.bin",
    .resumes = transformers_resumes,
};

}  // namespace tare
