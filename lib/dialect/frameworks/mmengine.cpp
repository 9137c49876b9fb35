// mmengine: torch's scaler in files of one run, the newest of which `last_checkpoint` names. Source:
// mmengine/hooks/checkpoint_hook.py, mmengine/runner/checkpoint.py, find_latest_checkpoint.
#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/run_pointer.hpp"

namespace tare {
namespace {

constexpr auto mmengine_pointers = std::to_array<RunPointer>({
    {"last_checkpoint", last_part_of_path},
});

}  // namespace

constinit const Trainer mmengine_trainer = {
    .name = "mmengine",
    .pointers = mmengine_pointers,
};

}  // namespace tare
