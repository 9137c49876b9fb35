// Rank files that disagree, made alike.
#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/edit/plan.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

const std::string corpus = TARE_TEST_DATA "/corpus/torch/";
const std::string usual = corpus + "rank-files-disagree/step100/rank0.pt";  // scale 65536.0, tracker 250
const std::string other = corpus + "rank-files-disagree/step100/rank1.pt";  // scale 32768.0, tracker 0
const std::string with_int = corpus + "value-int/v.pt";                     // scale 65536, an int
const std::string with_float = corpus + "value-big/v.pt";

class Ranks : public Scratch {
 public:
  explicit Ranks(const std::vector<std::string>& files) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      write("step/rank" + std::to_string(i) + ".pt", bytes_of(files[i]));
    }
  }
  [[nodiscard]] Checkpoint open() const { return open_checkpoint(path("step"), {}); }
  void align(std::vector<Assignment> set = {}) const {
    EditRequest request;
    request.action = Assign{std::move(set), true};
    const EditPlan plan = plan_edit(open(), request);
    commit(system_files(), plan.files, plan.for_history, {.upper = folder(), .recovery = {}});
  }
};

Status status_of(const Ranks& ranks, const EditRequest& request) {
  return test::status_of([&] { plan_edit(ranks.open(), request); });
}

double number(const Scaler& scaler, Role role) {
  return scaler.state().find(role)->value.as_double();
}

EditRequest setting(const std::string& scale) {
  EditRequest request;
  request.action = Assign{{{"scale", scale}}};
  return request;
}

}  // namespace

TEST_CASE("copies that disagree are edited only where they are to be aligned") {
  const Ranks ranks({usual, other});
  CHECK(status_of(ranks, setting("1024")) == Status::conflict);
  EditRequest nothing;
  CHECK(status_of(ranks, nothing) == Status::invalid_argument);
  nothing.action = Assign{{}, true};
  CHECK(status_of(ranks, nothing) == Status::ok);
}

TEST_CASE("all copies get the state that most of them have") {
  const Ranks ranks({other, usual, usual, other, usual});
  ranks.align();
  const Checkpoint after = ranks.open();
  REQUIRE(after.scalers.size() == 1);
  CHECK(after.scalers[0].agree);
  CHECK(after.scalers[0].copies.size() == 5);
  CHECK(number(after.scalers[0], Role::scale) == 65536);
  CHECK(number(after.scalers[0], Role::growth_tracker) == 250);
  CHECK(bytes_of(ranks.path("step/rank1.pt")) == bytes_of(usual));
}

TEST_CASE("of states that are equally common the first counts, and values that are given count more") {
  const Ranks ranks({other, usual});
  ranks.align({{"scale", "2048"}});
  const Checkpoint after = ranks.open();
  REQUIRE(after.scalers.size() == 1);
  CHECK(number(after.scalers[0], Role::scale) == 2048);
  CHECK(number(after.scalers[0], Role::growth_tracker) == 0);
}

TEST_CASE("where no state is held by more files than another it is said which one was taken") {
  const auto findings = [](const std::vector<std::string>& files) {
    EditRequest request;
    request.action = Assign{{}, true};
    return plan_edit(Ranks(files).open(), request).findings;
  };
  const std::vector<Finding> told = findings({other, usual, usual, other});
  REQUIRE(told.size() == 1);
  CHECK(told[0].severity == Severity::warning);
  CHECK(told[0].code == "no-majority");
  CHECK(told[0].file == "rank0.pt");
  CHECK(told[0].message.starts_with("2 states are held by 2 files each, and none by more: all get this one"));
  CHECK(findings({other, usual, usual}).empty());
  CHECK(findings({usual, usual}).empty());
}

TEST_CASE("an int and a float of one value are aligned too, and the plan says that a type changes") {
  const Ranks ranks({with_float, with_float, with_int});
  REQUIRE(ranks.open().scalers.size() == 2);
  EditRequest request;
  request.action = Assign{{}, true};
  const EditPlan plan = plan_edit(ranks.open(), request);
  const auto scale = std::find_if(plan.fields.begin(), plan.fields.end(),
                                  [](const PlannedField& field) { return field.field == "scale"; });
  REQUIRE(scale != plan.fields.end());
  CHECK(scale->note == "int becomes float");
  CHECK(scale->files == std::vector<std::string>{"rank2.pt"});
  commit(system_files(), plan.files, plan.for_history, {.upper = ranks.folder(), .recovery = {}});
  CHECK(ranks.open().scalers.size() == 1);
}

TEST_CASE("a tensor does not become a Python float") {
  EditRequest request;
  request.action = Assign{{}, true};
  const Ranks ranks({with_float, with_float, corpus + "tensor1d-t2.15/checkpoint.pt"});
  REQUIRE(ranks.open().scalers.size() == 2);
  CHECK(status_of(ranks, request) == Status::refused);
}

}  // namespace tare::test
