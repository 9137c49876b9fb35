// In which order the saves of a run are told, and which number of a name is a step.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/trace/checkpoints.hpp"
#include "lib/trace/saved_step.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

using OptionalStep = std::optional<std::int64_t>;

/// The names of the saves "run/NAME" as they are told; each has a scaler, and counts what stands beside its name.
std::vector<std::string> told_order(const std::map<std::string, OptionalStep>& steps) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, step] : steps) texts["run/" + name] = "";
  const MemoryFiles files(std::move(texts));
  const ReadSave read = [&](const std::string& path) {
    Save save;
    save.checkpoint.path = path;
    save.checkpoint.step = steps.at(path.substr(4));
    save.scale = 1024;
    return std::optional(save);
  };
  const std::string path = "run";
  const Trace trace =
      read_run_checkpoints(std::span(&path, 1), {.tag = {}, .files = &files, .standard_input = {}}, read);
  std::vector<std::string> names;
  for (const TraceCheckpoint& checkpoint : trace.checkpoints) names.push_back(checkpoint.path.substr(4));
  return names;
}

}  // namespace

TEST_CASE("saves are told by their steps, and those without one stay behind the save that they lay behind") {
  using Names = std::vector<std::string>;
  CHECK(told_order({{"a1", 30}, {"a2", {}}, {"a3", 20}, {"a4", {}}, {"a5", 10}}) ==
        Names{"a5", "a3", "a4", "a1", "a2"});
  CHECK(told_order({{"a1", {}}, {"a2", 20}, {"a3", {}}, {"a4", 10}}) == Names{"a1", "a4", "a2", "a3"});
  CHECK(told_order({{"a1", {}}, {"a2", {}}, {"a3", {}}}) == Names{"a1", "a2", "a3"});
}

TEST_CASE("the year of a date in a name is no step") {
  for (const char* name : {"ckpt_2024-05-01.pt", "checkpoint-2024-05-01", "ckpt-2024-05-01_12-30-00.pt"}) {
    INFO(name);
    CHECK(step_in_name(name) == OptionalStep());
  }
  CHECK(step_in_name("2024-05-01_step_300.pt") == OptionalStep(300));
  CHECK(step_in_name("ckpt_2024-05-01_step=2000.pt") == OptionalStep(2000));
  CHECK(step_in_name("checkpoint-2500-64-16") == OptionalStep(2500));
  CHECK(step_in_name("ckpt-1024-12-12.pt") == OptionalStep(1024));
  CHECK(step_in_name("checkpoint-2024-05") == OptionalStep(2024));
  CHECK(step_in_name("checkpoint-2024") == OptionalStep(2024));
}
