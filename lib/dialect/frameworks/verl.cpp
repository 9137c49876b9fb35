// verl keeps no scaler of its FSDP workers. Source: verl/utils/checkpoint/fsdp_checkpoint_manager.py,
// verl/utils/checkpoint/checkpoint_manager.py, verl/workers/engine/fsdp/transformer_impl.py
// (ShardedGradScaler(growth_interval=400)).
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/run_pointer.hpp"

namespace tare {
namespace {

constexpr auto verl_marks = std::to_array<std::string_view>({"lr_scheduler", "rng"});
constexpr auto verl_resumes = std::to_array<Resume>({
    {.stored = Resume::Stored::no,
     .what = "keeps no scaler: a resumed fp16 run starts anew at 65536, and grows after 400 clean steps",
     .source = "verl/utils/checkpoint/fsdp_checkpoint_manager.py, save_checkpoint",
     .was_run = true},
});

// Megatron's file, and other folders: find_latest_ckpt_path.
std::optional<std::string> verl_step(std::string_view text) {
  const auto step = iteration_number(text);
  return step ? std::optional(fmt::format("global_step_{}", *step)) : std::nullopt;
}

constexpr auto verl_pointers = std::to_array<RunPointer>({
    {"latest_checkpointed_iteration.txt", verl_step},
});

}  // namespace

constinit const Trainer verl_trainer = {
    .name = "verl",
    .pointers = verl_pointers,
    .marks = verl_marks,
    .marked_file = "*extra_state_world_size_*",
    .resumes = verl_resumes,
};

}  // namespace tare
