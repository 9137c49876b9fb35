// Under which key which release of a trainer keeps its scaler.

#include "lib/dialect/release_keys.hpp"
#include "lib/base/error.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

const ReleaseKey& row_at(const char* path, const Dialect& dialect = torch_state) {
  FoundScaler scaler;
  scaler.dialect = &dialect;
  scaler.path = path;
  const ReleaseKey* row = release_key_of(scaler);
  REQUIRE(row != nullptr);
  return *row;
}

}  // namespace

TEST_CASE("a key is another one in another release") {
  const ReleaseKey& usual = row_at("MixedPrecision");
  CHECK(key_in_release(usual, "1.5.10").key == "native_amp_scaling_state");
  CHECK(key_in_release(usual, "1.8").key == "NativeMixedPrecisionPlugin");
  CHECK(key_in_release(usual, "2.1.0").key == "MixedPrecisionPlugin");
  CHECK(key_in_release(usual, "2.1").key == "MixedPrecision");
  CHECK(key_in_release(usual, "2").key == "MixedPrecision");
  CHECK(key_in_release(usual, "3.0").key == "MixedPrecision");
  const ReleaseKey& sharded = row_at("FSDPPrecision");
  CHECK(key_in_release(sharded, "2.1.0").key == "FSDPPrecisionPlugin");
  CHECK(key_in_release(sharded, "2.0.9").key == "FSDPMixedPrecisionPlugin");
  CHECK(key_in_release(sharded, "1.9").key == "FullyShardedNativeNativeMixedPrecisionPlugin");
  CHECK(key_in_release(row_at("amp_scaling_state.loss_scaler0", apex_amp_state), "1.7").key ==
        "ApexMixedPrecisionPlugin");
}

TEST_CASE("a release without such a scaler is refused, and a text that is no version") {
  CHECK_THROWS_AS(key_in_release(row_at("ShardedNativeMixedPrecisionPlugin"), "2.0"), Error);
  CHECK_THROWS_AS(key_in_release(row_at("FSDPPrecision"), "1.7.1"), Error);
  for (const char* text : {"", "new", "2.", "2.x", "-1", "2.1.4.1", "99999999999"}) {
    CHECK_THROWS_AS(key_in_release(row_at("MixedPrecision"), text), Error);
  }
}

TEST_CASE("no release has two keys for one scaler") {
  for (const ReleaseKey& a : release_keys()) {
    for (const ReleaseKey& b : release_keys()) {
      if (&a == &b || a.with != b.with || a.since.empty()) continue;
      CHECK(key_in_release(b, a.since).key == a.key);
    }
  }
}

TEST_CASE("other keys are none of a release") {
  FoundScaler scaler;
  scaler.dialect = &torch_state;
  for (const char* path : {"", "scaler", "MixedPrecision.scaler", "MixedPrecisionX"}) {
    scaler.path = path;
    CHECK(release_key_of(scaler) == nullptr);
  }
}
