// HDF5 that is no state of tare's, or was damaged, or was made by someone who knows the checksum: refused with a
// reason, or read and told to be nothing that tare vouches for.

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/hdf5_table.h"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/codec/hdf5_of_bytes.hpp"

using namespace tare;
using namespace std::string_view_literals;

namespace {

constexpr std::string_view blank = TARE_HDF5_BLANK_CHECKSUM;
constexpr std::string_view mark = blank.substr(0, 6);

ScalerState small_state() {
  ScalerState state;
  state.policy = "tomorrow";
  state.params.set("flag", true);
  state.params.set("factor", 0.1);
  state.fields.set("text", std::string("grün"));
  state.fields.set("json", OpaqueJson{R"({"a":[1,"b"]})"});
  state.fields.set("integers", StateArray{{3}, std::vector<std::int64_t>{1, 2, 3}});
  return state;
}

/// With more entries than a header holds.
ScalerState crowded_state() {
  ScalerState state = small_state();
  for (int i = 0; i < 10; ++i) state.params.set(std::to_string(i), static_cast<double>(i));
  return state;
}

ScalerState packed_state() {
  ScalerState state = small_state();
  state.fields.set("history", StateArray{{2500, 4}, std::vector<float>(10'000, 0.5f)});
  return state;
}

std::size_t place_of(const Bytes& bytes, std::string_view text) {
  const std::size_t at = as_text(bytes).find(text);
  REQUIRE(at != std::string_view::npos);
  return at;
}

/// One run of bytes in the place of another of the same length.
Bytes with(Bytes bytes, std::string_view was, std::string_view now) {
  const std::size_t at = place_of(bytes, was);
  std::ranges::copy(as_bytes(now), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return bytes;
}

/// With a checksum that is right, as whoever means harm would see to. A file that has no place for it stays as it is.
Bytes sealed(Bytes bytes) {
  try {
    put_hdf5_checksum(bytes, {});
  } catch (const Error&) {
    return bytes;
  }
  return bytes;
}

Status status_of(ByteView bytes) {
  return test::status_of([&] { loaded_from(bytes); });
}

/// Whether it is refused, or read with a finding.
bool told_of(ByteView bytes) {
  try {
    return !loaded_from(bytes).findings.empty();
  } catch (const Error&) {
    return true;
  }
}

std::string refusal_of(ByteView bytes) {
  try {
    loaded_from(bytes);
  } catch (const Error& error) {
    CHECK(error.status == Status::corrupt);
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a file cut off anywhere is refused") {
  const Bytes whole = state_to_hdf5(small_state(), Compression::zstd);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    REQUIRE(status_of(ByteView(whole).first(size)) == Status::corrupt);
  }
}

TEST_CASE("of a file that was cut off it is said how long it should be and how long it is") {
  const Bytes whole = state_to_hdf5(small_state(), Compression::none);
  CHECK_THAT(refusal_of(ByteView(whole).first(whole.size() - 1)),
             Catch::Contains("the superblock says " + std::to_string(whole.size()) + " bytes, there are " +
                             std::to_string(whole.size() - 1)));
}

TEST_CASE("a file with a bit of any byte changed is refused, or told to be another's") {
  Bytes file = state_to_hdf5(small_state(), Compression::none);
  for (std::size_t i = 0; i < file.size(); ++i) {
    const std::byte changed{static_cast<unsigned char>(1u << i % 8)};
    file[i] ^= changed;
    const bool is_told = told_of(file);
    file[i] ^= changed;
    INFO(i);
    REQUIRE(is_told);
  }
}

TEST_CASE("a value that was changed without its checksum is read and told, as one whose mark was damaged is") {
  const double factor = 0.1;
  const double other = 0.2;
  const auto bytes_of = [](const double& value) { return as_text(std::as_bytes(std::span(&value, 1))); };
  const Bytes whole = state_to_hdf5(small_state(), Compression::none);
  const Bytes changed = with(whole, bytes_of(factor), bytes_of(other));
  const LoadedState loaded = loaded_from(changed);
  CHECK(get(loaded.state, "params.factor") == StateValue(other));
  REQUIRE(loaded.findings.size() == 1);
  CHECK(loaded.findings[0].severity == Severity::warning);
  CHECK(loaded.findings[0].code == "checksum-differs");
  CHECK(loaded.findings[0].message.starts_with("the checksum in its root is not that of the file"));
  const LoadedState unmarked = loaded_from(with(changed, mark, "crc3x:"));
  CHECK(unmarked.state == loaded.state);
  REQUIRE(unmarked.findings.size() == 1);
  CHECK(unmarked.findings[0].message.starts_with("tare's checksum is not in it"));
  CHECK(loaded_from(sealed(changed)).findings.empty());
}

TEST_CASE("any byte changed by who mends the checksum is read or refused, and does no harm") {
  for (const ScalerState& state : {crowded_state(), packed_state()}) {
    const Bytes whole = state_to_hdf5(state, Compression::zstd);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const std::byte value : {std::byte{0xff}, whole[i] ^ std::byte{1}}) {
        Bytes changed = whole;
        changed[i] = value;
        status_of(sealed(std::move(changed)));
      }
    }
    CHECK(state_from(whole) == state);
  }
}

TEST_CASE("HDF5 of another kind and a newer schema are told apart") {
  const Bytes whole = state_to_hdf5(small_state(), Compression::none);
  const Bytes newer = with(whole, "tare.state/1", "tare.state/2");
  CHECK(status_of(newer) == Status::unsupported);
  const std::string no_state = refusal_of(with(whole, "schema\0"sv, "Xchema\0"sv));
  CHECK(no_state == "x.h5: an HDF5 file, but none with a scaler's state");
  const Bytes other = sealed(with(whole, "tare.state/1", "Xare.state/1"));
  CHECK(refusal_of(other) == "x.h5: schema \"Xare.state/1\" is not that of a scaler's state");
}

TEST_CASE("a state whose own texts look like its schema and checksum comes back") {
  ScalerState state = small_state();
  state.policy = blank;
  state.fields.set("text", std::string("tare.state/2 checksum crc32:00000000"));
  CHECK(state_from(state_to_hdf5(state, Compression::none)) == state);
}

TEST_CASE("values of a wrong type are refused by their name") {
  const Bytes whole = state_to_hdf5(small_state(), Compression::none);
  const auto integer = "\x10\x08\0\0\x08\0\0\0\0\0\x40\0"sv;
  const Bytes reference = with(whole, integer, "\x17\0\0\0\x08\0\0\0\0\0\x40\0"sv);
  CHECK(refusal_of(sealed(reference)) == "x.h5: fields.integers: is of a type that no state has");
  const Bytes number_policy = with(whole, "policy\0\0\x19\x01\x01\0\x10"sv, "policy\0\0\x10\x08\0\0\x10"sv);
  CHECK(refusal_of(sealed(number_policy)) == "x.h5: the root: its \"policy\" is no text");
  const Bytes no_json = with(whole, R"([1,"b"]})", R"([1,"b"]])");
  CHECK(refusal_of(sealed(no_json)).starts_with("x.h5: fields.json: "));
}

TEST_CASE("texts and names that JSON cannot say are refused") {
  const Bytes whole = state_to_hdf5(small_state(), Compression::none);
  CHECK(refusal_of(sealed(with(whole, "gr\xc3\xbcn", "gr\xc3\xffn"))) ==
        "x.h5: fields.text: a text that is no UTF-8: \"gr\\xc3\\xffn\"");
  CHECK(refusal_of(sealed(with(whole, "tomorrow", "tomor\xffow"))) ==
        "x.h5: the root: a text that is no UTF-8: \"tomor\\xffow\"");
  CHECK(refusal_of(sealed(with(whole, "integers", "int\xffgers"))) ==
        "x.h5: fields: a text that is no UTF-8: \"int\\xffgers\"");
}

TEST_CASE("values that are claimed but not stored are refused") {
  const Bytes plain = state_to_hdf5(small_state(), Compression::none);
  const auto three = "\x01\x01\x01\0\0\0\0\0\x03\0\0\0\0\0\0\0"sv;
  const auto four = "\x01\x01\x01\0\0\0\0\0\x04\0\0\0\0\0\0\0"sv;
  const auto many = "\x01\x01\x01\0\0\0\0\0\0\0\0\x08\0\0\0\0"sv;
  CHECK(refusal_of(sealed(with(plain, three, four))) == "x.h5: fields.integers: 24 bytes stored, not 32");
  CHECK(refusal_of(sealed(with(plain, three, many))).starts_with("x.h5: fields.integers: 134217728 values are more"));
  const Bytes packed = state_to_hdf5(packed_state(), Compression::zstd);
  const auto rows = "\x01\x02\x01\0\0\0\0\0\xc4\x09\0\0\0\0\0\0"sv;
  const auto twice = "\x01\x02\x01\0\0\0\0\0\x88\x13\0\0\0\0\0\0"sv;
  const std::string said = refusal_of(sealed(with(packed, rows, twice)));
  CHECK(said == "x.h5: fields.history: not each of its chunks is stored, once: 1 for 2");
}
