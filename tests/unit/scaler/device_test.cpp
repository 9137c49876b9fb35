// What a machine without a GPU, or a build without CUDA, says to who asks for one.

#include "lib/base/error.hpp"
#include "lib/device/backend.hpp"
#include "lib/scaler/scaler.hpp"
#include "tests/catch.hpp"

using namespace tare;
using Catch::Contains;

namespace {

/// What making a scaler on a device says; null if it was made.
std::unique_ptr<Error> refusal_on(const std::string& device) {
  try {
    make_scaler(parse_config((R"({"policy":"torch","device":")" + device + "\"}").c_str()));
  } catch (const Error& error) {
    return std::make_unique<Error>(error);
  }
  return nullptr;
}

}  // namespace

#if defined(TARE_HAS_CUDA)

TEST_CASE("a GPU asked for where there is none is an error in the driver's words") {
  const auto refusal = refusal_on("cuda:999");
  REQUIRE(refusal);
  CHECK(refusal->status == Status::backend);
  CHECK(refusal->detail > 0);
  CHECK_THAT(refusal->what(), Contains("CUDA: ") && (Contains("(cudaError") || Contains("no device cuda:999")));
  CHECK_THAT(refusal->hint, Contains("cpu"));
}

TEST_CASE("the CUDA module is opened once and has everything that libtare asks of it") {
  const tare_backend_table& table = cuda_backend();
  CHECK(&table == &cuda_backend());
  CHECK(table.scaler_make != nullptr);
  CHECK(table.list_read != nullptr);
}

#else

TEST_CASE("a GPU asked of a build without CUDA is refused as unsupported") {
  const auto refusal = refusal_on("cuda:0");
  REQUIRE(refusal);
  CHECK(refusal->status == Status::unsupported);
  CHECK_THAT(refusal->what(), Contains("without CUDA"));
}

#endif
