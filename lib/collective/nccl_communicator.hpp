// Ranks of NCCL: reductions on a GPU's stream, without a wait of the host.
#pragma once

#include <memory>

#include "lib/collective/communicator.hpp"

namespace tare {

/// `comm`: an ncclComm_t, borrowed for as long as the communicator lives. Throws `unsupported` where this process has
/// no fitting NCCL, `invalid_argument` for what NCCL does not take for a communicator.
std::shared_ptr<Communicator> communicator_of_nccl(void* comm);

}  // namespace tare
