// States that h5py or h5repack wrote or changed (tests/data/make_states.py): every value is read, and nothing vouched
// for.
#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;

namespace {

LoadedState loaded(const std::string& name) {
  return state_from_hdf5(std::make_shared<FileSource>(TARE_TEST_SOURCE "/data/states/" + name));
}

std::vector<double> numbers_of(const StateValue& value) {
  std::vector<double> numbers;
  std::visit(
      [&](const auto& items) {
        for (const auto& item : items) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(item)>, std::string>) {
            numbers.push_back(static_cast<double>(item));
          }
        }
      },
      std::get<StateArray>(value).values);
  return numbers;
}

std::vector<double> history() {
  std::vector<double> numbers;
  for (int i = 0; i < 750; ++i) numbers.push_back(i % 97 * 0.25);
  return numbers;
}

const std::vector<std::string> names{"layer.0", "größer", ""};

/// `scale`: the one value in which the files differ.
void require_values(const ScalerState& state, double scale) {
  CHECK(state.policy == "tomorrow");
  CHECK(get(state, "fields.scale") == StateValue(scale));
  CHECK(get(state, "fields.growth_tracker") == StateValue(std::int64_t{3}));
  CHECK(std::get<StateArray>(get(state, "fields.history")).shape == std::vector<std::uint64_t>{30, 25});
  CHECK(numbers_of(get(state, "fields.history")) == history());
  CHECK(get(state, "fields.names") == StateValue(StateArray{{3}, names}));
  CHECK(numbers_of(get(state, "fields.narrow")) == std::vector<double>{0.5, -2.0});
  CHECK(get(state, "params.flag") == StateValue(true));
  CHECK(get(state, "params.nothing") == StateValue(std::monostate()));
  CHECK(std::get<OpaqueJson>(get(state, "params.note")).text.find("\"a\"") != std::string::npos);
  CHECK(get(state, "params.text") == StateValue(std::string("grün")));
  for (int i = 0; i < 12; ++i) CHECK(get(state, "params.parameter_" + std::to_string(i)) == StateValue(i / 4.0));
  CHECK(state.fields.size() == 5);
  CHECK(state.params.size() == 16);
}

}  // namespace

TEST_CASE("a state that h5py made is read, whatever its superblock, chunks, filters and types") {
  for (const char* name : {"h5py.h5", "h5py_latest.h5", "h5py_single.h5", "h5py_plain.h5", "h5py_growing.h5"}) {
    INFO(name);
    const LoadedState state = loaded(name);
    require_values(state.state, 1024);
    REQUIRE(state.findings.size() == 1);
    CHECK(state.findings[0].code == "checksum-differs");
  }
  require_values(loaded("user_block.h5").state, 1024);
}

TEST_CASE("a state of tare's that h5py or h5repack changed or wrote anew is read, and told to be theirs") {
  CHECK(loaded("tare.h5").findings.empty());
  require_values(loaded("tare.h5").state, 1024);
  for (const char* name : {"replaced.h5", "repacked.h5", "repacked_latest.h5"}) {
    INFO(name);
    require_values(loaded(name).state, 1024);
    CHECK(loaded(name).findings.size() == 1);
  }
  require_values(loaded("changed.h5").state, 2048);
  CHECK(loaded("changed.h5").findings.at(0).file.ends_with("changed.h5"));
}

TEST_CASE("an order that was kept is that of the state, and one that was not is that of the names") {
  const auto keys_of = [](const StateSection& section) {
    std::vector<std::string> keys;
    for (const auto& entry : section) keys.push_back(entry.name);
    return keys;
  };
  const ScalerState written = loaded("tare.h5").state;
  CHECK(keys_of(written.params).front() == "flag");
  CHECK(keys_of(loaded("repacked.h5").state.params) == keys_of(written.params));
  CHECK(keys_of(loaded("repacked_latest.h5").state.params) == keys_of(written.params));
  std::vector<std::string> sorted = keys_of(written.params);
  std::ranges::sort(sorted);
  CHECK(keys_of(loaded("h5py.h5").state.params) == sorted);
  CHECK(keys_of(loaded("h5py_latest.h5").state.params) == sorted);
}

TEST_CASE("a byte of a state of h5py's that is changed is read or refused, and does no harm") {
  for (const char* name : {"h5py_latest.h5", "h5py_growing.h5", "h5py_plain.h5", "replaced.h5"}) {
    const FileSource file(TARE_TEST_SOURCE "/data/states/" + std::string(name));
    const Bytes whole = file.read({0, file.size()});
    constexpr std::size_t step = 7;  // of many bytes
    for (std::size_t i = 0; i < whole.size(); i += step) {
      Bytes changed = whole;
      changed[i] ^= std::byte{0xff};
      try {
        state_from_hdf5(std::make_shared<MemorySource>("x.h5", std::move(changed)));
      } catch (const Error&) {
        continue;
      }
    }
  }
}
