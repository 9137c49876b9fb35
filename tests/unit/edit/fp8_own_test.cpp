// FP8 states of tare's own: a row for each slot, of which each keeps what its policy would look for.
#include "lib/edit/fp8_own.hpp"

#include "lib/base/error.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

class State : public Scratch {
 public:
  explicit State(const std::string& policy, const std::string& length_key)
      : checkpoint_(open_checkpoint(write("state.json", json(policy, length_key)), {})) {
    REQUIRE(checkpoint_.scalers.size() == 1);
  }
  [[nodiscard]] const FoundScaler& state() const { return checkpoint_.scalers[0].state(); }

 private:
  static std::string json(const std::string& policy, const std::string& length_key) {
    return R"({"schema": "tare.state/1", "policy": ")" + policy + R"(", "params": {")" + length_key +
           R"(": 4, "margin": 0.0, "slots": ["a/input", "a/weight", "b.c/input"], "format": ["e4m3", "e4m3", "e4m3"]},
               "fields": {"scale": [1.0, 2.0, 4.0],
                          "amax_history": [[5, 2, 3, 4], [50, 20, 30, 40], [500, 200, 300, 400]]}})";
  }

  Checkpoint checkpoint_;
};

using Numbers = std::vector<double>;

Numbers resized(const FoundScaler& state, std::int64_t length) {
  const std::vector<NewField> fields = resized_slots(state, length);
  REQUIRE(fields.size() == 1);
  CHECK(fields[0].name == "fields.amax_history");
  CHECK(fields[0].after.type.ends_with("[3," + std::to_string(length) + "]"));
  const auto& array = std::get<PackedArray>(fields[0].after.data);
  CHECK(array.shape() == std::vector<std::int64_t>{3, length});
  CHECK(std::get<NewTensor>(fields[0].data).shape == array.shape());
  CHECK(std::get<NewTensor>(fields[0].data).elements == array.bytes());
  CHECK_FALSE(stays_in_place(fields[0]));
  Numbers all;
  for (std::uint64_t i = 0; i < array.count(); ++i) all.push_back(array.number_at(i));
  return all;
}

TEST_CASE("each slot of a state keeps the running amax and its newest entries where its rule looks for them") {
  const std::pair<const char*, const char*> policies[] = {{"flax_fp8", "amax_history_length"},
                                                          {"transformer_engine", "amax_history_len"}};
  for (const auto& [policy, length_key] : policies) {
    INFO(policy);
    const State made(policy, length_key);
    CHECK(resized(made.state(), 3) == Numbers{5, 3, 4, 50, 30, 40, 500, 300, 400});
    CHECK(resized(made.state(), 4) == Numbers{5, 2, 3, 4, 50, 20, 30, 40, 500, 200, 300, 400});
    CHECK(resized(made.state(), 6) == Numbers{5, 0, 0, 2, 3, 4, 50, 0, 0, 20, 30, 40, 500, 0, 0, 200, 300, 400});
    CHECK(resized(made.state(), 1) == Numbers{5, 50, 500});
  }
}

TEST_CASE("slots are renamed by the parts of their layers' names, those that are chosen, and never two to one name") {
  const State made("flax_fp8", "amax_history_length");
  const auto names = [&](const Fp8Choice& choice, const char* from, const char* to) {
    std::vector<std::string> all;
    const std::vector<NewField> fields = renamed_slots(made.state(), choice, from, to);
    if (fields.empty()) return all;
    CHECK(fields[0].name == "params.slots");
    for (const Value& name : std::get<ValueList>(fields[0].after.data)) all.push_back(std::get<std::string>(name.data));
    return all;
  };
  using Names = std::vector<std::string>;
  CHECK(names({}, "a", "x") == Names{"x/input", "x/weight", "b.c/input"});
  CHECK(names({}, "c", "d") == Names{"a/input", "a/weight", "b.d/input"});
  CHECK(names({}, "input", "x").empty());
  CHECK(names({}, "a", "a").empty());
  CHECK_THROWS_AS(names({}, "b.c", "a"), Error);
}

}  // namespace
}  // namespace tare::test
