// What Lightning imports by the texts of hyperparameters, in pickles and in texts.
#include <string>
#include <vector>

#include "tests/unit/attest/told.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

/// A checkpoint with these hyperparameters, keys and values in turn.
std::string pickled(const std::vector<std::string>& settings) {
  std::string map = "(d";
  for (std::size_t i = 0; i + 1 < settings.size(); i += 2) map += "V" + settings[i] + "\nV" + settings[i + 1] + "\ns";
  return "(dVloss_scale\nF2.0\nsVhyper_parameters\n" + map + "s.";
}

const std::string own = "lightning.pytorch.cli.instantiate_module";

}  // namespace

TEST_CASE("an instantiator is judged in pickled hyperparameters, JSON and YAML") {
  CHECK(says(told(pickled({"_instantiator", "os.system"})), "dangerous os.system"));
  CHECK(says(told(pickled({"_instantiator", "evil.mod.fn"})), "unknown evil.mod.fn"));
  CHECK(says(told(R"({"lr": 0.1, "_instantiator": "os.system"})", ".json"), "dangerous os.system"));
  CHECK(says(told("lr: 0.1\n_instantiator: os.system\n", ".yaml"), "dangerous os.system"));
  CHECK(told(pickled({"lr", "os.system"})).empty());
  CHECK(told(pickled({"_instantiator", "none"})).empty());
}

TEST_CASE("Lightning's own instantiator is as good as the classes that are named for it") {
  for (const std::string& maker :
       {own, "lightning.cli.instantiate_module"s, "pytorch_lightning.cli.instantiate_module"s}) {
    INFO(maker);
    CHECK(told(pickled({"_instantiator", maker})).empty());
    CHECK(says(told(pickled({"_instantiator", maker, "_class_path", "evil.Model"})), "unknown evil.Model"));
    CHECK(says(told(pickled({"_instantiator", maker, "class_path", "os.system"})), "dangerous os.system"));
    const std::string json = R"({"loss_scale": 1.0, "_instantiator": ")" + maker + R"(")";
    CHECK(told(json + "}", ".json").empty());
    CHECK(says(told(json + R"(, "_class_path": "evil.Model"})", ".json"), "unknown evil.Model"));
    const std::string yaml = "_instantiator: " + maker + "\n";
    CHECK(told(yaml, ".yaml").find("instantiate_module") == std::string::npos);
    CHECK(told(yaml, ".yaml").find("names what") == std::string::npos);
    CHECK(says(told(yaml + "_class_path: evil.Model\n", ".yaml"), "unknown evil.Model"));
  }
  CHECK(!told(pickled({"_instantiator", "lightning.pytorch.cli.LightningCLI"})).empty());
  CHECK(says(told(pickled({"class_path", "os.system"})), "dangerous os.system"));
}
