// The Hugging Face Trainer: torch's scaler in `scaler.pt`, since May 2021. Its arguments say whether it trained in
// fp16. Source: src/transformers/trainer.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto runs = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "checkpoint-#", {}, {}, FileType::folder},
});
constexpr auto marks = std::to_array<std::string_view>({"fp16", "output_dir"});
constexpr auto resumes = std::to_array<Resume>({
    {.when = "before May 2021",
     .stored = Resume::Stored::no,
     .what = "keeps no scaler of an fp16 run: a resumed one starts anew at 65536",
     .helps = "newer ones save scaler.pt, and load one that lies in the checkpoint",
     .source = "huggingface/transformers#11663",
     .was_run = true},
});

}  // namespace

constinit const Trainer transformers_trainer = {
    .name = "the Hugging Face Trainer",
    .runs = runs,
    .marks = marks,
    .marked_file = "*training_args.bin",
    .resumes = resumes,
};

}  // namespace tare
