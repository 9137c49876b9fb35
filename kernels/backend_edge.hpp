// The edge of a backend's table: what is thrown behind it becomes a status.
#pragma once

#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "kernels/backend.h"
#include "kernels/launch.hpp"

namespace tare::kernels {

/// What a backend refuses, or was refused; `status` as tare.h numbers it.
class Refusal : public std::runtime_error {
 public:
  Refusal(std::int32_t its_status, int its_detail, const std::string& message, std::string its_hint = {})
      : std::runtime_error(message), status(its_status), detail(its_detail), hint(std::move(its_hint)) {}

  std::int32_t status;
  int detail;
  std::string hint;
};

// Statuses of tare.h that backends return.
inline constexpr std::int32_t done = 0;
inline constexpr std::int32_t invalid_argument = 1;
inline constexpr std::int32_t out_of_memory = 3;
inline constexpr std::int32_t unsupported = 10;
inline constexpr std::int32_t backend_failed = 20;
inline constexpr std::int32_t refused = 34;
inline constexpr std::int32_t internal = 90;

inline std::int32_t report(tare_backend_error* error, const Refusal& refusal) {
  const auto copy = [](auto& to, const char* from) {
    std::strncpy(to, from, sizeof to - 1);
    to[sizeof to - 1] = '\0';
  };
  error->status = refusal.status;
  error->detail = refusal.detail;
  copy(error->message, refusal.what());
  copy(error->hint, refusal.hint.c_str());
  return refusal.status;
}

template <class Body>
std::int32_t at_edge(tare_backend_error* error, const Body& body) {
  try {
    body();
    return done;
  } catch (const Refusal& refusal) {
    return report(error, refusal);
  } catch (const std::bad_alloc&) {
    return report(error, {out_of_memory, 0, "out of memory"});
  } catch (const std::length_error&) {
    return report(error, {out_of_memory, 0, "out of memory: a size beyond the address space"});
  } catch (const std::system_error& failure) {
    return report(
        error, {out_of_memory, failure.code().value(), "the system gives no more threads", "Ask for fewer threads."});
  } catch (const std::exception& failure) {
    return report(error, {internal, 0, failure.what(), "This is a bug of tare: please report it."});
  }
}

inline std::span<const Tensor> tensors_at(const void* tensors, std::uint64_t count) {
  return {static_cast<const Tensor*>(tensors), static_cast<std::size_t>(count)};
}

}  // namespace tare::kernels
