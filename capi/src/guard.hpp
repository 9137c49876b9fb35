// The edge of the library: everything that is thrown becomes a status here, and the caller's floating-point environment
// is set aside for the length of a call.
#pragma once

#include <tare/tare.h>

#include <exception>

#include "kernels/cpu/fp_environment.hpp"
#include "lib/base/error.hpp"

namespace tare::capi {

/// Writes what is being handled into `error` (null: nowhere) and gives its status. Allocates nothing. REQUIRES: called
/// in a catch block.
int32_t report_current(tare_error* error) noexcept;
/// Says that all went well.
void report_success(tare_error* error) noexcept;

template <class Body>
int32_t guard(tare_error* error, const Body& body) noexcept {
  const kernels::cpu::FpEnvironment environment;
  try {
    body();
  } catch (...) {
    return report_current(error);
  }
  report_success(error);
  return TARE_OK;
}

/// Throws `invalid_argument` for a null pointer.
inline void require(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Error(Status::invalid_argument, std::string(name) + " is NULL");
}

/// As guard, for functions that make something: *out is NULL unless all went well.
template <class Out, class Body>
int32_t guard_making(Out** out, tare_error* error, const Body& body) noexcept {
  if (out != nullptr) *out = nullptr;
  return guard(error, [&] {
    require(out, "out");
    *out = body();
  });
}

}  // namespace tare::capi
