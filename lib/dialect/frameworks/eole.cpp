// Eole (OpenNMT-py) keeps no scaler. Source: eole/utils/optimizers.py, Optimizer.state_dict;
// eole/models/model_saver.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto eole_marks = std::to_array<std::string_view>({"training_step", "decay_step", "optimizer"});
constexpr auto eole_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "keeps no scaler: a resumed fp16 run starts anew at 65536",
     .source = "eole/utils/optimizers.py, Optimizer.state_dict",
     .was_run = true},
});

}  // namespace

constinit const Trainer eole_trainer = {
    .name = "Eole",
    .marks = eole_marks,
    .resumes = eole_resumes,
};

}  // namespace tare
