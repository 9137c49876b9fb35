// Marian keeps its cost scaling out of its checkpoints: optimizer state in NumPy's `.npz`, progress in YAML. Source:
// src/training/graph_group.{h,cpp}, src/optimizers/optimizers.cpp (1.12).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto marian_marks = std::to_array<std::string_view>({"adam_mt", "adam_vt"});
constexpr auto marian_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what =
         "keeps neither its cost-scaling factor nor its counts: a resumed run starts anew at what --cost-scaling says",
     .helps = "give --cost-scaling the factor that the log last told",
     .source = "src/training/graph_group.h, costScalingFactor_",
     .why_read = "a C++ program that PyPI and Debian do not have"},
});

}  // namespace

constinit const Trainer marian_trainer = {
    .name = "Marian",
    .marks = marian_marks,
    .marked_file = "*.optimizer.npz",
    .resumes = marian_resumes,
};

}  // namespace tare
