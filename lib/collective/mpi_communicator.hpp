// Ranks of MPI, by libtare_mpi.so, which is found and opened.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "lib/collective/communicator.hpp"

namespace tare {

struct MpiConfig {
  std::optional<std::int32_t> communicator;  ///< Fortran's handle; none: MPI_COMM_WORLD
  double timeout_seconds = std::numeric_limits<double>::infinity();
};

/// A JSON object {"communicator":0,"timeout_seconds":60}; null or empty: the above. Throws `invalid_argument`.
MpiConfig parse_mpi_config(const char* json);

/// A call of all ranks. Throws `unsupported` where the module cannot be had, `refused` where MPI does not run in this
/// process, `invalid_argument` for what is no communicator, `backend` where MPI fails.
std::shared_ptr<Communicator> communicator_of(const MpiConfig& config);

}  // namespace tare
