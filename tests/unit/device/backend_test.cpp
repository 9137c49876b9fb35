// What a backend reports becomes an error that says what to do.
#include "lib/device/backend.hpp"

#include <cstring>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

/// A function of a table, which fails as its first argument says.
std::int32_t reports(std::int32_t status, std::int32_t detail, tare_backend_error* error) {
  error->status = status;
  error->detail = detail;
  std::strcpy(error->message, "cudaMalloc: no device");
  std::strcpy(error->hint, "\"device\":\"cpu\" needs no GPU.");
  return status;
}

Error error_of(Status status) {
  try {
    call(reports, static_cast<std::int32_t>(status), std::int32_t{100});
  } catch (const Error& error) {
    return error;
  }
  return {Status::ok, "none"};
}

}  // namespace

TEST_CASE("a call that succeeds throws nothing") {
  CHECK(error_of(Status::ok).status == Status::ok);
}

TEST_CASE("a call that fails throws its status, message, hint and CUDA's own number") {
  const Error error = error_of(Status::backend);
  CHECK(error.status == Status::backend);
  CHECK(std::string(error.what()) == "cudaMalloc: no device");
  CHECK(error.detail == 100);
  CHECK(error.hint == "\"device\":\"cpu\" needs no GPU.");
}

TEST_CASE("where there is no module, the library says how to go on without a device") {
  try {
    const auto size = cuda_backend().struct_size;
    CHECK(size > 0);
  } catch (const Error& error) {
    CHECK(error.status == Status::unsupported);
    CHECK(error.hint.find("\"device\":\"cpu\"") != std::string::npos);
  }
}
