// CoTracker keeps no scaler. Source: train_on_kubric.py, train_on_real_data.py.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto co_tracker_marks = std::to_array<std::string_view>({"model", "optimizer", "scheduler", "total_steps"});
constexpr auto co_tracker_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "keeps no scaler: a resumed mixed-precision run starts anew",
     .source = "facebookresearch/co-tracker#101",
     .why_read = "PyPI has no release of it"},
});

}  // namespace

constinit const Trainer co_tracker_trainer = {
    .name = "CoTracker",
    .marks = co_tracker_marks,
    .resumes = co_tracker_resumes,
};

}  // namespace tare
