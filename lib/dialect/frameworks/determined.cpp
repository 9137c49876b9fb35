// Determined: a folder for each checkpoint, named by its UUID, with torch's scaler in `state_dict.pth`; which one a
// trial resumes from stands in its master's database. Source: harness/determined/pytorch/_pytorch_trial.py, _load and
// _save (0.38.1).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto determined_places = std::to_array<KeptAt>({
    {"scaler_state_dict", "", "models_state_dict", "Determined"},
});
constexpr auto determined_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::asked, "*-*-*-*-*", {}, "state_dict.pth"},
});
constexpr auto determined_marks = std::to_array<std::string_view>({"models_state_dict", "optimizers_state_dict"});
constexpr auto determined_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what =
         "warns that `scaler_state_dict` does not exist where AMP is on, and goes on: that run starts anew at 65536",
     .helps = "one that is put there is loaded",
     .source = "harness/determined/pytorch/_pytorch_trial.py, PyTorchTrialController._load",
     .was_run = true},
});

}  // namespace

constinit const Trainer determined_trainer = {
    .name = "Determined",
    .places = determined_places,
    .runs = determined_runs,
    .marks = determined_marks,
    .resumes = determined_resumes,
};

}  // namespace tare
