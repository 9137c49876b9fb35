// Passes over lists of tensors in host memory. A call is one parallel region for the whole list and done when it
// returns. Partial results belong to pieces of fixed size and are put together in their order, so that neither the
// number of threads nor the instruction set shows in any bit.
//
// The host's floating-point environment is set aside for the length of a call, on every thread.
#pragma once

#include <memory>

#include "kernels/cpu/instruction_set.hpp"
#include "kernels/cpu/workers.hpp"
#include "kernels/launch.hpp"

namespace tare::kernels::cpu {

class CpuBackend : public Backend {
 public:
  /// `threads`: that work on a list, the caller's among them. Throws std::system_error if they cannot be had.
  explicit CpuBackend(unsigned threads, InstructionSet set = best_instruction_set())
      : workers_(threads), pieces_(pieces_of(set)) {}

  std::unique_ptr<TensorList> make_list() override;

 private:
  friend class CpuList;

  Workers workers_;
  const PieceTable& pieces_;
};

}  // namespace tare::kernels::cpu
