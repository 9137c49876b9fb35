// verl keeps no scaler of its FSDP workers. Source: verl/utils/checkpoint/fsdp_checkpoint_manager.py,
// verl/workers/engine/fsdp/transformer_impl.py (ShardedGradScaler(growth_interval=400)).
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr auto verl_marks = std::to_array<std::string_view>({"lr_scheduler", "rng"});
constexpr auto verl_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "keeps no scaler: a resumed fp16 run starts anew at 65536, and grows after 400 clean steps",
     .source = "verl/utils/checkpoint/fsdp_checkpoint_manager.py, save_checkpoint",
     .was_run = true},
});

}  // namespace

constinit const Trainer verl_trainer = {
    .name = "verl",
    .marks = verl_marks,
    .marked_file = "*extra_state_world_size_*",
    .resumes = verl_resumes,
};

}  // namespace tare
