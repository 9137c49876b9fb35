// The state as HDF5: everything back as it was. What is refused has a file of its own, hdf5_hostile_test.cpp.
#include "lib/codec/hdf5.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include "lib/base/attribute_checksum.hpp"
#include "lib/base/error.hpp"
#include "lib/hdf5/superblock.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/codec/hdf5_of_bytes.hpp"

using namespace tare;

namespace {

ScalerState state_of_everything() {
  ScalerState state;
  state.policy = "tomorrow";
  state.params.set("nothing", std::monostate());
  state.params.set("flag", true);
  state.params.set("integer", std::int64_t{-9223372036854775807});
  state.params.set("with/slash", 0.1);
  state.params.set("..", std::string(""));
  state.fields.set("text", std::string("grün"));
  state.fields.set("json", OpaqueJson{R"({"a":[1,"b"]})"});
  state.fields.set("integers", StateArray{{3}, std::vector<std::int64_t>{1, 2, 3}});
  state.fields.set("empty", StateArray{{0}, std::vector<double>{}});
  state.fields.set("names", StateArray{{2}, std::vector<std::string>{"layer.0", ""}});
  state.other.set("later", 2.5);
  return state;
}

}  // namespace

TEST_CASE("every kind of value comes back, in order and under its name") {
  const ScalerState state = state_of_everything();
  for (const Compression how : {Compression::none, Compression::gzip, Compression::zstd}) {
    const Bytes bytes = state_to_hdf5(state, how);
    CHECK(starts_like_hdf5(bytes));
    CHECK(state_from(bytes) == state);
  }
}

TEST_CASE("a big history is packed by each compression and comes back to the bit") {
  std::vector<float> history(1000 * 64);
  for (std::size_t i = 0; i < history.size(); ++i) history[i] = static_cast<float>(i % 97) * 0.37f;
  ScalerState state;
  state.policy = "tomorrow";
  state.fields.set("amax_history", StateArray{{1000, 64}, history});
  const Bytes plain = state_to_hdf5(state, Compression::none);
  CHECK(plain.size() > history.size() * sizeof(float));
  for (const Compression how : {Compression::gzip, Compression::zstd}) {
    const Bytes packed = state_to_hdf5(state, how);
    CHECK(packed.size() < plain.size() / 4);
    CHECK(state_from(packed) == state);
  }
}

TEST_CASE("chunks of rows, of parts of rows and at the edges come back, packed or not worth it") {
  ScalerState state;
  state.policy = "tomorrow";
  std::vector<double> wide(3 * 300'000);
  std::iota(wide.begin(), wide.end(), 0.5);
  std::vector<std::int64_t> deep(7 * 11 * 3001);
  std::iota(deep.begin(), deep.end(), -1000);
  std::mt19937_64 random(1);
  std::vector<std::int64_t> noise(300'000);
  std::ranges::generate(noise, [&] { return static_cast<std::int64_t>(random()); });
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back("layer." + std::to_string(i));
  state.fields.set("wide", StateArray{{3, 300'000}, wide});
  state.fields.set("deep", StateArray{{7, 11, 3001}, deep});
  state.fields.set("noise", StateArray{{noise.size()}, noise});
  state.fields.set("names", StateArray{{names.size()}, names});
  for (const Compression how : {Compression::none, Compression::gzip, Compression::zstd}) {
    CHECK(state_from(state_to_hdf5(state, how)) == state);
  }
}

TEST_CASE("few entries and thousands come back in their order") {
  for (const std::size_t count : {0U, 8U, 9U, 40U, 800U, 4096U}) {
    INFO(count);
    ScalerState state;
    state.policy = "tomorrow";
    const std::string filler(120, 'x');
    for (std::size_t i = count; i > 0; --i) {
      state.params.set(filler.substr(0, i % 120) + std::to_string(i), static_cast<std::int64_t>(i));
    }
    CHECK(state_from(state_to_hdf5(state, Compression::none)) == state);
  }
}

TEST_CASE("text with a NUL character is no text for HDF5") {
  ScalerState state;
  state.policy = "tomorrow";
  state.fields.set("text", std::string("a\0b", 3));
  CHECK_THROWS_AS(state_to_hdf5(state, Compression::none), Error);
}

TEST_CASE("names come back as they are, or are refused: HDF5's own ends at a NUL, and nobody reads one without end") {
  constexpr std::size_t longest = 4096;
  const auto named = [](const std::string& name) {
    ScalerState state;
    state.policy = name;
    state.fields.set(name, 1.0);
    return state;
  };
  for (const std::string& name : {std::string(1025, 'q'), std::string(longest, 'q'), std::string(longest, '/')}) {
    const ScalerState state = named(name);
    CHECK(state_from(state_to_hdf5(state, Compression::none)) == state);
    const NamedState several[] = {{name, state}, {name.substr(1), state}};
    const auto file = std::make_shared<MemorySource>("states.h5", states_to_hdf5(several, Compression::none));
    const std::vector<NamedState> read = states_from_hdf5(file).states;
    REQUIRE(read.size() == 2);
    CHECK(read[0].path == name);
    CHECK(read[1].path == name.substr(1));
    CHECK(read[1].state == state);
  }
  for (const std::string& name : {std::string("a\0b", 3), std::string(longest + 1, 'q'), std::string(70'000, '/')}) {
    CHECK_THROWS_WITH(state_to_hdf5(named(name), Compression::none), Catch::StartsWith("HDF5 cannot hold"));
    ScalerState only_policy, only_field;
    only_policy.policy = name;
    only_field.fields.set(name, 1.0);
    CHECK_THROWS_AS(state_to_hdf5(only_policy, Compression::none), Error);
    CHECK_THROWS_AS(state_to_hdf5(only_field, Compression::none), Error);
    const NamedState one[] = {{name, ScalerState{}}};
    CHECK_THROWS_AS(states_to_hdf5(one, Compression::none), Error);
  }
}

TEST_CASE("values that are not compressed are written from where they lie in the state, without a second image") {
  ScalerState state;
  state.policy = "tomorrow";
  state.fields.set("amax_history", StateArray{{1000, 256}, std::vector<float>(256'000, 0.5f)});
  const auto& history = std::get<StateArray>(*state.fields.find("amax_history"));
  const ByteView values = std::as_bytes(std::span(std::get<std::vector<float>>(history.values)));
  std::uint64_t copied = 0;
  write_hdf5(state, Compression::none, [&](std::span<const ByteView> pieces) {
    for (const ByteView piece : pieces) {
      const bool is_lent = piece.data() >= values.data() && piece.data() < values.data() + values.size();
      copied += is_lent ? 0 : piece.size();
    }
  });
  CHECK(copied <= attribute_checksum_head_bytes + 16'384);  // the head, for the checksum in it; and what stands behind
}

namespace {

/// Counts the bytes that are read of a file.
class CountedSource final : public Source {
 public:
  explicit CountedSource(Bytes bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    require_inside(offset, to.size());
    count_ += to.size();
    std::ranges::copy(ByteView(bytes_).subspan(offset, to.size()), to.begin());
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::string name_ = "x.h5";
  Bytes bytes_;
  mutable std::atomic<std::uint64_t> count_{0};
};

}  // namespace

TEST_CASE("values are read once, for the state and for the checksum over the whole file") {
  ScalerState state;
  state.policy = "tomorrow";
  std::vector<float> values(2'000'000);
  std::iota(values.begin(), values.end(), 0.25f);
  state.fields.set("amax_history", StateArray{{2000, 1000}, values});
  const auto source = std::make_shared<CountedSource>(state_to_hdf5(state, Compression::none));
  const LoadedState loaded = state_from_hdf5(source);
  CHECK(loaded.state == state);
  CHECK(loaded.findings.empty());
  CHECK(source->count() < source->size() + 262'144);
}

TEST_CASE("histories of one value are written as large as whoever reads the file can take them") {
  ScalerState state;
  state.policy = "tomorrow";
  const auto size_with = [&](std::size_t entries) {
    state.fields.set("amax_history", StateArray{{entries}, std::vector<float>(entries)});
    return state_to_hdf5(state, Compression::gzip).size();
  };
  CHECK(size_with(3'900'000) < 300'000);     // 16 MB, whose reader any file may ask for
  CHECK(size_with(4'100'000) > 16'000'000);  // as they are
}

TEST_CASE("amax histories of a training run take a fifth of their bytes under shuffle and zstd") {
  const LoadedState loaded =
      state_from_hdf5(std::make_shared<FileSource>(TARE_TEST_SOURCE "/data/states/amax_of_a_run.h5"));
  const auto& history = std::get<StateArray>(*loaded.state.fields.find("amax_history"));
  CHECK(history.shape == std::vector<std::uint64_t>{51, 1024});
  const Bytes packed = state_to_hdf5(loaded.state, Compression::zstd);
  ScalerState zeros = loaded.state;
  zeros.fields.set("amax_history", StateArray{history.shape, std::vector<float>(51 * 1024)});
  const std::size_t around = state_to_hdf5(zeros, Compression::zstd).size();
  CHECK((packed.size() - around) * 5 <= 51 * 1024 * sizeof(float));
  CHECK(state_from(packed) == loaded.state);
}
