// A state that comes into a layer: what of it the layer takes, and what is refused.
#include "lib/edit/fp8_incoming.hpp"

#include "lib/base/error.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/state/fp8_set.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_field.hpp"

using namespace tare;
using tare::test::floats;

namespace {

using Numbers = std::vector<double>;

/// One product, a history of 2, no counter.
FoundScaler layer() {
  FoundScaler state;
  state.dialect = &transformer_engine_state;
  state.path = "a._extra_state";
  state.fields = {floats("scale_fwd", {1, 2, 4}), floats("scale_inv_fwd", {1, 0.5F, 0.25F}),
                  floats("amax_history_fwd", {1, 2, 3, 4, 5, 6})};
  return state;
}

/// Scales of 8, 16, ..., histories of 10, 11; 20, 21; ...
IncomingFp8 incoming(const char* policy, std::vector<std::string> names, std::int64_t length = 2) {
  Fp8Set set{};
  set.policy = &require_fp8_policy(policy);
  set.parameters = default_parameters(*set.policy);
  set.parameters.history_length = length;
  set.names = std::move(names);
  set.formats.assign(set.names.size(), Dtype::f8_e4m3fn);
  start_fresh(set);
  for (std::size_t i = 0; i < set.names.size(); ++i) {
    set.scale[i] = static_cast<float>(8 << i);
    for (std::size_t entry = 0; entry < static_cast<std::size_t>(length); ++entry) {
      set.history[i * static_cast<std::size_t>(length) + entry] = static_cast<float>(10 * (i + 1) + entry);
    }
  }
  return IncomingFp8(to_state(set));
}

Numbers numbers(const std::vector<NewField>& fields, std::string_view name) {
  for (const NewField& field : fields) {
    if (field.name != name) continue;
    const auto& array = std::get<PackedArray>(field.after.data);
    Numbers all;
    for (std::uint64_t i = 0; i < array.count(); ++i) all.push_back(array.number_at(i));
    return all;
  }
  return {};
}

}  // namespace

TEST_CASE("a layer takes the scales and histories of its tensors, and those that are not named stay") {
  const auto fields = incoming("transformer_engine", {"a/input", "b/input", "a/output"}).fields_of(layer(), {}, false);
  CHECK(fields.size() == 3);
  CHECK(numbers(fields, "scale_fwd") == Numbers{8, 2, 32});
  CHECK(numbers(fields, "scale_inv_fwd") == Numbers{0.125, 0.5, 0.03125});
  CHECK(numbers(fields, "amax_history_fwd") == Numbers{10, 2, 30, 11, 5, 31});
}

TEST_CASE("counters that a layer has no place for are left out, and all else is taken") {
  const auto fields = incoming("msamp", {"a/input", "a/weight", "a/output"}).fields_of(layer(), {}, false);
  CHECK(numbers(fields, "scale_fwd") == Numbers{8, 16, 32});
  CHECK(fields.size() == 3);
}

TEST_CASE("a state that names no tensor of a layer changes nothing, and one of another length is refused") {
  CHECK(incoming("transformer_engine", {"b/input"}).fields_of(layer(), {}, false).empty());
  for (const std::int64_t length : {1, 3}) {
    try {
      (void)incoming("transformer_engine", {"a/weight"}, length).fields_of(layer(), {}, false);
      FAIL("it was taken");
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
      CHECK(std::string(error.what()) ==
            "'a/weight' has a history of 2 entries, the state one of " + std::to_string(length));
    }
  }
}
