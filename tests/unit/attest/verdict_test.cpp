// What each name is, told by tables: gadgets, the names of real checkpoints, the classes of frameworks.
#include "lib/attest/verdict.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/attest/framework_class.hpp"
#include "lib/container/pickle/globals/dangerous_global.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;

namespace {

/// The words of each line of a table in tests/data, `#` apart.
std::vector<std::vector<std::string>> table(const char* name) {
  std::ifstream file(std::string(TARE_TEST_SOURCE "/data/") + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string word; words >> word;) row.push_back(word);
  }
  return rows;
}

Verdict verdict(std::string_view module, std::string_view name) {
  return verdict_of(module, name, newest_torch_release());
}

}  // namespace

TEST_CASE("every gadget that the scanners know, and more, is dangerous under every torch") {
  const auto gadgets = table("gadgets.txt");
  REQUIRE(gadgets.size() > 300);
  for (const auto& gadget : gadgets) {
    INFO(gadget.at(0) << " " << gadget.at(1));
    CHECK(verdict(gadget[0], gadget[1]) == Verdict::dangerous);
    CHECK(verdict_of(gadget[0], gadget[1], 0) == Verdict::dangerous);
  }
}

TEST_CASE("a gadget is dangerous however its dots are parted between module and name") {
  for (const auto& gadget : table("gadgets.txt")) {
    const std::string path = gadget.at(0) + "." + gadget.at(1);
    for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
      INFO(path.substr(0, dot) << " " << path.substr(dot + 1));
      CHECK(verdict(path.substr(0, dot), path.substr(dot + 1)) == Verdict::dangerous);
    }
  }
}

TEST_CASE("what an innocent module has imported is what it is at home") {
  for (const char* module : {"torch.utils.data", "numpy.core.records", "mine", "collections"}) {
    for (const char* name : {"os", "os.system", "sys.modules", "_sys.modules", "subprocess.Popen", "builtins.eval",
                             "Popen", "import_module", "helpers.pickle.loads", "eval", "Thing.__init__.__globals__"}) {
      INFO(module << " " << name);
      CHECK(verdict(module, name) == Verdict::dangerous);
    }
  }
  CHECK(verdict("torch", "nn.modules.module.os.system") == Verdict::dangerous);
  CHECK(verdict("torch.nn.modules.linear", "Linear.forward") == Verdict::unknown);
}

TEST_CASE("the names of real checkpoints are what they were found to be") {
  const auto names = table("checkpoint_names.txt");
  REQUIRE(names.size() > 120);
  for (const auto& row : names) {
    INFO(row.at(0) << " " << row.at(1));
    CHECK(name(verdict(row[0], row[1])) == row.at(2));
  }
}

TEST_CASE("no class that is listed, and nothing that weights_only takes, is dangerous") {
  std::size_t count = 0;
  for (const FrameworkTable& table : framework_tables()) {
    CHECK(std::ranges::is_sorted(table.classes));
    for (const ClassName& listed : table.classes) {
      INFO(table.framework << ": " << listed.module << " " << listed.name);
      CHECK(!is_dangerous_global(listed.module, listed.name));
      CHECK(verdict(listed.module, listed.name) <= Verdict::framework);
      ++count;
    }
  }
  CHECK(count > 500);
  for (const auto& row : table("checkpoint_names.txt")) {
    if (row.at(2) == "allowed") CHECK(!is_dangerous_global(row[0], row[1]));
  }
}

TEST_CASE("a framework is its listed classes: no other name of their modules, packages or spellings") {
  for (const auto& [module, name] : {std::pair{"torch.optim.adam", "Adam2"},
                                     {"torch.optim.adam", "adam"},
                                     {"torch.optim", "something.Adam"},
                                     {"deepspeed.runtime.engine", "DeepSpeedEngine"},
                                     {"megatron.core.utils", "anything"},
                                     {"transformers.trainer", "Trainer"},
                                     {"torch", "optim.adam.Adam"},
                                     {"ultralytics.nn.tasks", "DetectionModel"}}) {
    INFO(module << " " << name);
    CHECK(verdict(module, name) == Verdict::unknown);
  }
}

TEST_CASE("what some release's weights_only takes is no stranger to the others") {
  const TorchRelease oldest = 0;
  CHECK(verdict_of("torch._utils", "_rebuild_tensor_v3", oldest) == Verdict::framework);
  CHECK(verdict("torch._utils", "_rebuild_nested_tensor") == Verdict::framework);
  CHECK(verdict("torch._utils", "_rebuild_tensor_v9") == Verdict::unknown);
}
