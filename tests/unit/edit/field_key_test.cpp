// Which field a key names: as the framework calls it, or by a word for what it is.
#include "lib/edit/field_key.hpp"

#include "lib/base/error.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;

namespace {

std::string named(const std::string& path, std::string_view key) {
  const Checkpoint checkpoint = open_checkpoint(TARE_TEST_DATA "/corpus/" + path, {});
  return field_of(checkpoint.scalers.at(0).state(), key).name;
}

Error error_for(const std::string& path, std::string_view key) {
  try {
    named(path, key);
  } catch (const Error& error) {
    return error;
  }
  FAIL("it was found");
  return Error(Status::ok, "");
}

}  // namespace

TEST_CASE("a field is meant by the framework's own name, with a prefix or without, and by what it is in tare's words") {
  const std::string torch = "torch/scaler-file-t2.15/scaler.pt";
  for (const char* key : {"_growth_tracker", "native:_growth_tracker", "growth_tracker"}) {
    INFO(key);
    CHECK(named(torch, key) == "_growth_tracker");
  }
  const std::string deepspeed = "deepspeed/zero2_2ranks/ckpt/global_step5";
  for (const char* key : {"cur_scale", "native:cur_scale", "scale"}) {
    INFO(key);
    CHECK(named(deepspeed, key) == "cur_scale");
  }
}

TEST_CASE(
    "a word for what the framework does not store is refused with the way to set it, and a slip with what was meant") {
  const std::string torch = "torch/scaler-file-t2.15/scaler.pt";
  const Error fixed = error_for(torch, "min_scale");
  CHECK(fixed.status == Status::refused);
  CHECK_THAT(fixed.what(), Catch::Contains("does not store min_scale in a checkpoint"));
  CHECK_FALSE(fixed.hint.empty());
  const Error slip = error_for(torch, "_growth_traker");
  CHECK(slip.status == Status::invalid_argument);
  CHECK_THAT(slip.hint, Catch::StartsWith("did you mean '_growth_tracker'?"));
  CHECK(error_for(torch, "native:window").status == Status::invalid_argument);  // no name of torch's
}
