// Matrices quantised with scales of their own values, and the way back, by threads of the CPU.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/instruction_set.hpp"
#include "kernels/cpu/matrix_panel.hpp"
#include "kernels/cpu/workers.hpp"

namespace tare::kernels::cpu {

class Quantiser {
 public:
  /// `threads`: the caller's among them. Neither their number nor the instruction set shows in a bit. Throws
  /// std::system_error and std::bad_alloc.
  Quantiser(unsigned threads, const fp8::Quantisation& how, InstructionSet set = best_instruction_set());

  /// Checked before. Allocate nothing. Throw a Refusal in a forked child.
  void quantise(std::span<const fp8::Matrix> matrices);
  /// Reads the rowwise side, or the columnwise one where there is no other.
  void dequantise(std::span<const fp8::Matrix> matrices);

 private:
  /// Does `work(panel, part)`, which gives the bits of an amax, for all of a matrix; returns the greatest.
  template <class Work>
  std::uint32_t each_part(const fp8::Matrix& matrix, const Work& work);
  void quantise(const fp8::Matrix& matrix);

  const fp8::Quantisation how_;
  std::vector<std::unique_ptr<MatrixPanel>> panels_;  // one a thread
  Workers workers_;
  const pid_t owner_;
};

}  // namespace tare::kernels::cpu
