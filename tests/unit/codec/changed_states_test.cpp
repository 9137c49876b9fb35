// A file of tare's own states that is written anew with one of them changed.
#include "lib/codec/changed_states.hpp"

#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/json.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"

using namespace tare;

namespace {

ScalerState with_scale(double scale) {
  ScalerState state;
  state.policy = "torch";
  state.fields.set("scale", scale);
  state.fields.set("_growth_tracker", std::int64_t{3});
  return state;
}

std::shared_ptr<const Source> file_of(ByteView bytes) {
  return std::make_shared<MemorySource>("states", Bytes(bytes.begin(), bytes.end()));
}

std::vector<NamedState> states_in(const Bytes& bytes) {
  if (as_text(bytes).starts_with("\x89HDF")) return states_from_hdf5(file_of(bytes)).states;
  return states_from_json(std::string(as_text(bytes)), "states");
}

}  // namespace

TEST_CASE("of several states in a file one is changed, and the others, and the kind of file, stay") {
  const std::vector<NamedState> states = {{"actor", with_scale(2.0)}, {"critic", with_scale(4.0)}};
  const NamedState changed{"critic", with_scale(1024.0)};
  const std::string json = states_to_json(states);
  const Bytes hdf5 = states_to_hdf5(states, Compression::none);
  for (const ByteView file : {as_bytes(json), ByteView(hdf5)}) {
    const Bytes after = file_with_states(file_of(file), std::span(&changed, 1));
    CHECK(as_text(after).starts_with("\x89HDF") == as_text(file).starts_with("\x89HDF"));
    const std::vector<NamedState> now = states_in(after);
    REQUIRE(now.size() == 2);
    CHECK(now[0].path == "actor");
    CHECK(now[0].state == states[0].state);
    CHECK(now[1].path == "critic");
    CHECK(now[1].state == changed.state);
    const NamedState other{"nobody", with_scale(1.0)};
    CHECK(test::status_of([&] { file_with_states(file_of(file), std::span(&other, 1)); }) == Status::internal);
  }
}

TEST_CASE("a state that is alone in its file is changed, and still alone there") {
  const NamedState changed{"", with_scale(1024.0)};
  const std::string json = state_to_json(with_scale(2.0));
  const Bytes hdf5 = state_to_hdf5(with_scale(2.0), Compression::none);
  for (const ByteView file : {as_bytes(json), ByteView(hdf5)}) {
    const std::vector<NamedState> now = states_in(file_with_states(file_of(file), std::span(&changed, 1)));
    REQUIRE(now.size() == 1);
    CHECK(now[0].path.empty());
    CHECK(now[0].state == changed.state);
  }
}

TEST_CASE("what others keep in a state stays where the state is written anew") {
  ScalerState before = with_scale(2.0);
  before.params.set("growth_interval", std::int64_t{100});
  before.statistics.set("steps", std::int64_t{7});
  before.other.set("run", "llama-7b");
  before.fields.set("noted_by_hand", std::int64_t{1});
  const NamedState changed{"", with_scale(1024.0)};
  const std::string json = state_to_json(before);
  const Bytes hdf5 = state_to_hdf5(before, Compression::none);
  before.fields.set("scale", 1024.0);
  for (const ByteView file : {as_bytes(json), ByteView(hdf5)}) {
    CHECK(states_in(file_with_states(file_of(file), std::span(&changed, 1))).front().state == before);
  }
}
