// FP8 slots that many ranks have alike: before a step, what each saw of them becomes what all saw.
#pragma once

#include <memory>
#include <vector>

#include "kernels/fp8/slots.hpp"
#include "lib/collective/communicator.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {

class Fp8Reduction {
 public:
  /// A call of all ranks. Throws `mismatch` on each of them where policies, parameters or slots are not the same.
  Fp8Reduction(std::shared_ptr<Communicator> communicator, const Fp8Set& set);

  /// A call of all ranks: the greatest amaxes, and for fp8_lm the sums of its counts. `slots` are in host memory; they
  /// stay as they were where the engine fails. Allocates nothing.
  void join(const kernels::fp8::Slots& slots);

 private:
  std::shared_ptr<Communicator> communicator_;
  std::vector<std::uint64_t> amaxes_;
  std::vector<double> counts_;
};

}  // namespace tare
