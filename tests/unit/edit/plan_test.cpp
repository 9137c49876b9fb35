// Which edits of a checkpoint are planned at all, and what their plans say.
#include "lib/edit/plan.hpp"

#include <set>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

const std::string corpus = TARE_TEST_DATA "/corpus/";
const std::string rank = corpus + "torch/rank-files-disagree/step100/rank0.pt";

EditRequest setting(bool align = false) {
  EditRequest request;
  request.action = Assign{{{"scale", "1024"}}, align};
  return request;
}

Error refusal(const Checkpoint& checkpoint, const EditRequest& request) {
  try {
    plan_edit(checkpoint, request);
  } catch (const Error& error) {
    return error;
  }
  return Error(Status::ok, "");
}

}  // namespace

TEST_CASE("where a rank's file is missing an edit is refused, but where the files that are there are meant") {
  const Scratch scratch;
  for (const char* name : {"step/rank0.pt", "step/rank1.pt", "step/rank3.pt"}) scratch.write(name, bytes_of(rank));
  const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {});
  const Error error = refusal(checkpoint, setting());
  CHECK(error.status == Status::refused);
  CHECK(error.hint == "--align edits the files that are there all the same");
  CHECK(plan_edit(checkpoint, setting(true)).files.size() == 3);
  scratch.write("step/rank2.pt", bytes_of(rank));
  CHECK(plan_edit(open_checkpoint(scratch.path("step"), {}), setting()).files.size() == 4);
}

TEST_CASE("where a file of a checkpoint cannot be read an edit is refused, even of those that are there") {
  const Scratch scratch;
  scratch.write("step/rank0.pt", bytes_of(rank));
  scratch.write("step/rank1.pt", std::string("PK\x03\x04 cut short"));
  for (const bool align : {false, true}) {
    const Error error = refusal(open_checkpoint(scratch.path("step"), {}), setting(align));
    CHECK(error.status == Status::refused);
    CHECK(std::string(error.what()).starts_with("rank1.pt: "));
    CHECK(error.hint == "an edit changes every copy or none: mend or remove that file first");
  }
}

TEST_CASE("layers are renamed by a part of their paths, each of them, and a part that none has is refused") {
  const Checkpoint checkpoint = open_checkpoint(corpus + "transformer_engine/te2.20_delayed/model.pt", {});
  EditRequest request;
  request.all = true;
  request.action = RenameFp8{"layers", "blocks"};
  const EditPlan plan = plan_edit(checkpoint, request);
  std::set<std::pair<std::string, std::string>> renamed;
  for (const PlannedField& field : plan.fields) {
    CHECK(field.field == "path");
    CHECK(field.files == std::vector<std::string>{"model.pt"});
    renamed.emplace(std::get<std::string>(field.before.data), std::get<std::string>(field.after.data));
  }
  std::set<std::pair<std::string, std::string>> wanted;
  for (const char* number : {"0", "1", "2", "3"}) {
    const std::string rest = std::string(".") + number + "._extra_state";
    wanted.emplace("layers" + rest, "blocks" + rest);
  }
  CHECK(renamed == wanted);
  CHECK(plan.files.size() == 1);
  CHECK(plan.for_history.size() == 4);
  request.action = RenameFp8{"layer", "block"};
  const Error error = refusal(checkpoint, request);
  CHECK(error.status == Status::refused);
  CHECK(std::string(error.what()) == "no layer's path has the part 'layer'");
  request.action = RenameFp8{"0", "1"};
  CHECK(std::string(refusal(checkpoint, request).what()) ==
        "'layers.0._extra_state' would become 'layers.1._extra_state', which is there already");
}

}  // namespace tare::test
