// What a backend calls back throws errors, which reach their caller through it as statuses.
#pragma once

#include "kernels/backend_edge.hpp"
#include "lib/base/error.hpp"

namespace tare {

template <class Body>
std::int32_t errors_at_edge(tare_backend_error* error, const Body& body) {
  return kernels::at_edge(error, [&] {
    try {
      body();
    } catch (const Error& failure) {
      throw kernels::Refusal(static_cast<std::int32_t>(failure.status), failure.detail, failure.what(), failure.hint);
    }
  });
}

}  // namespace tare
