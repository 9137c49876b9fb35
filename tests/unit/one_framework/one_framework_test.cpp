// A framework is one file and one line: made_up.cpp and its line in the table are all that this build has beside tare.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/container/container.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/migrate/migrate.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

ScalerState torch_state() {
  ScalerState state;
  state.policy = "torch";
  state.fields.set("scale", 4096.0);
  state.fields.set("_growth_tracker", std::int64_t{5});
  state.params.set("growth_interval", std::int64_t{77});
  return state;
}

/// A file of that framework's, and its folder's.
class Made {
 public:
  Made() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const Bytes& contents = plan.contents;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(contents.data()), static_cast<std::streamsize>(contents.size()));
  }
  ~Made() { std::filesystem::remove_all(folder_); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / "tare-one-framework";

 public:
  std::string path = (folder_ / "made.pt").string();
  NewFilePlan plan = plan_new_file(torch_state(), "made-up", path, {});
};

}  // namespace

TEST_CASE("a state is written as the framework would, and found again with who keeps it there") {
  const Made made;
  const Checkpoint checkpoint = open_checkpoint(made.path, {});
  REQUIRE(checkpoint.scalers.size() == 1);
  const FoundScaler& found = checkpoint.scalers[0].state();
  CHECK(found.dialect->name == "made_up");
  CHECK(found.path == "made_up_scaler");
  CHECK(found.place == "Made-up trainer");
  CHECK(found.authority == Authority::own_rank);
  CHECK(found.find(Role::scale)->value.as_double() == 4096);
  CHECK(found.find(Role::growth_tracker)->value.as_double() == 5);
}

TEST_CASE("what the file does not hold is told with the framework's flag") {
  const Made made;
  CHECK(made.plan.migration.flags == "--made-up-window 77");
  REQUIRE_FALSE(made.plan.migration.configured.empty());
  CHECK(made.plan.migration.configured[0].sentence == "Made-up takes its window from --made-up-window.");
}

TEST_CASE("an edit names the framework's own key") {
  const Made made;
  EditRequest request;
  request.action = Assign{{{"scale", "2^10"}}};
  const EditPlan plan = plan_edit(open_checkpoint(made.path, {}), request);
  REQUIRE(plan.fields.size() == 1);
  CHECK(plan.fields[0].field == "made_up_scale");
  CHECK(plan.fields[0].after.as_double() == 1024);
  CHECK(plan.files.size() == 1);
}

TEST_CASE("the policy that the file names goes on with the state") {
  const Made made;
  const ScalerState state = to_state(open_checkpoint(made.path, {}).scalers[0].state());
  CHECK(state.policy == "torch");
  CHECK(std::get<double>(*state.fields.find("scale")) == 4096);
}
