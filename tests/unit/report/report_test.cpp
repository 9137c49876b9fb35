#include "lib/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/report/json.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;
using Answer = nlohmann::json;

namespace {

const std::string corpus = std::string(TARE_TEST_DATA) + "/corpus/";

Answer answer_of(const Checkpoint& checkpoint, InspectParts parts = {}) {
  return Answer::parse(
      json::gathered([&](const json::TextSink& sink) { write_inspect_json(checkpoint, std::nullopt, parts, sink); }));
}

Answer inspected(const std::string& target, bool with_globals = false) {
  return answer_of(open_checkpoint(corpus + target, {.list_globals = with_globals}), {.globals = with_globals});
}

}  // namespace

TEST_CASE("inspect answers with the keys that were promised, and with a real file's values") {
  const Answer answer = inspected("torch/train-t2.15/checkpoint.pth");
  CHECK(answer["schema"] == "tare.inspect/1");
  CHECK(answer["pending"] == nullptr);
  REQUIRE(answer["files"].size() == 1);
  CHECK(answer["files"][0]["path"] == "checkpoint.pth");
  CHECK(answer["files"][0]["container"] == "torch_zip");
  REQUIRE(answer["scalers"].size() == 1);
  const Answer& scaler = answer["scalers"][0];
  CHECK(scaler["dialect"] == "torch");
  CHECK(scaler["path"] == "scaler");
  CHECK(scaler["agree"] == true);
  CHECK(scaler["fields"].size() == 5);
  CHECK(scaler["types"]["scale"] == "float");
  CHECK(scaler["roles"]["growth_interval"] == scaler["fields"]["growth_interval"]);
  CHECK(scaler["editable"].size() == 5);
}

TEST_CASE("copies that disagree are entries of their own and make the answer a no") {
  const Checkpoint checkpoint = open_checkpoint(corpus + "torch/rank-files-disagree/step100", {});
  CHECK(is_negative(checkpoint));
  const Answer answer = answer_of(checkpoint);
  REQUIRE(answer["scalers"].size() == 2);
  for (const Answer& scaler : answer["scalers"]) {
    CHECK(scaler["agree"] == false);
    CHECK(scaler["files"].size() == 1);
  }
}

TEST_CASE("globals are listed with who would accept them") {
  const Answer answer = inspected("hostile/call-eval/evil.pt", true);
  REQUIRE(answer["globals"].size() == 1);
  CHECK(answer["globals"][0]["module"] == "builtins");
  CHECK(answer["globals"][0]["name"] == "eval");
  CHECK(answer["globals"][0]["trust"] == "dangerous");
}

TEST_CASE("numbers that JSON has no word for are strings, and keep their value") {
  const auto text = [](const Value& value) { return report::text_of(report::value(value)); };
  CHECK(text({NAN, "float"}) == "\"nan\"\n");
  CHECK(text({-INFINITY, "float"}) == "\"-inf\"\n");
  CHECK(text({Integer{0, "18446744073709551616"}, "int"}) == "\"18446744073709551616\"\n");
  CHECK(text({65536.0, "float"}) == "65536.0\n");
  CHECK(text({0.1, "float"}) == "0.1\n");
  CHECK(text({std::monostate(), "None"}) == "null\n");
}

TEST_CASE("text that is no UTF-8 is escaped, with its bytes beside it") {
  report::Members members;
  report::add_text(members, "path", "a\xff");
  report::add_text(members, "file", "mod\xc3\xa8le");
  const Answer object = Answer::parse(report::text_of(members.take()));
  CHECK(object["path"] == "a\\xff");
  CHECK(object["path_bytes"] == "Yf8=");
  CHECK(object["file"] == "mod\xc3\xa8le");
  CHECK_FALSE(object.contains("file_bytes"));
}

TEST_CASE("an edit's answer shows every byte that would change") {
  const Checkpoint checkpoint = open_checkpoint(corpus + "torch/scaler-file-t2.15/scaler.pt", {});
  EditRequest request;
  request.action = Assign{{{"scale", "4096"}}};
  const EditPlan plan = plan_edit(checkpoint, request);
  const Answer answer = Answer::parse(edit_json(checkpoint, plan, std::nullopt));
  CHECK(answer["applied"] == false);
  REQUIRE(answer["fields"].size() == 1);
  CHECK(answer["fields"][0]["after"] == 4096.0);
  // The value, and its CRC-32 in the data descriptor and in the directory.
  REQUIRE(answer["changes"].size() == 1);
  CHECK(answer["changes"][0]["patches"].size() == 3);
}

TEST_CASE("a difference is named with both values") {
  const Checkpoint a = open_checkpoint(corpus + "torch/value-zero/v.pt", {});
  const Checkpoint b = open_checkpoint(corpus + "torch/value-int/v.pt", {});
  CHECK(differences(a, a).empty());
  const Answer answer = Answer::parse(diff_json(a, b, differences(a, b), {}));
  CHECK(answer["same"] == false);
  const auto is_scale = [](const Answer& d) { return d["field"] == "scale" && d["a"] == 0.0 && d["type_b"] == "int"; };
  CHECK(std::any_of(answer["differences"].begin(), answer["differences"].end(), is_scale));
}
