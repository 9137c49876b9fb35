// The state as HDF5: everything back as it was, and nothing taken from files that are no state.
#include "lib/codec/hdf5.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "lib/base/error.hpp"

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

Status status_of(ByteView bytes) {
  try {
    state_from_hdf5(bytes, "x.h5");
  } catch (const Error& error) {
    return error.status;
  }
  return Status::ok;
}

}  // namespace

TEST_CASE("every kind of value comes back, in order and under its name") {
  const ScalerState state = state_of_everything();
  for (const Compression how : {Compression::none, Compression::gzip, Compression::zstd}) {
    const Bytes bytes = state_to_hdf5(state, how);
    CHECK(is_hdf5(bytes));
    CHECK(state_from_hdf5(bytes, "x") == state);
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
    CHECK(state_from_hdf5(packed, "x") == state);
  }
}

TEST_CASE("a file cut off anywhere is refused") {
  const Bytes whole = state_to_hdf5(state_of_everything(), Compression::zstd);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    INFO(size);
    CHECK(status_of(ByteView(whole).first(size)) == Status::corrupt);
  }
}

TEST_CASE("a file with any bit changed is refused before libhdf5 sees it") {
  const Bytes whole = state_to_hdf5(state_of_everything(), Compression::none);
  for (std::size_t i = 0; i < whole.size(); i += 13) {
    INFO(i);
    Bytes damaged = whole;
    damaged[i] ^= std::byte{0x20};
    CHECK(status_of(damaged) != Status::ok);
  }
}

TEST_CASE("HDF5 of another kind and a newer schema are told apart") {
  Bytes bytes = state_to_hdf5(state_of_everything(), Compression::none);
  const auto at = as_text(bytes).find("tare.state/1");
  REQUIRE(at != std::string_view::npos);
  bytes[at + 11] = std::byte{'2'};
  CHECK(status_of(bytes) == Status::unsupported);
  bytes[at] = std::byte{'X'};
  CHECK(status_of(bytes) == Status::corrupt);
}

TEST_CASE("text with a NUL character is no text for HDF5") {
  ScalerState state;
  state.policy = "tomorrow";
  state.fields.set("text", std::string("a\0b", 3));
  CHECK_THROWS_AS(state_to_hdf5(state, Compression::none), Error);
}
