// FP8 slots that many ranks have alike: before a step, what each saw of them becomes what all saw.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "kernels/backend.h"
#include "kernels/fp8/slots.hpp"
#include "lib/collective/communicator.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {

class Fp8Reduction {
 public:
  Fp8Reduction(std::shared_ptr<Communicator> communicator, const Fp8Set& set);

  /// A call of all ranks, of slots in host memory. Throws `mismatch` on each of them where policies, parameters or
  /// slots are not the same.
  void require_alike();
  /// Likewise of slots on a GPU, which then go by what all ranks saw, as long as this lives and stays where it is.
  void require_alike(const tare_backend_table& backend, tare_backend_slots* slots);

  /// A call of all ranks: the greatest amaxes, and for fp8_lm the sums of its counts. `slots` are in host memory; they
  /// stay as they were where the engine fails, or ranks make another call, which throws `mismatch`. Allocates nothing.
  void join(const kernels::fp8::Slots& slots);
  /// For a GPU's; it lives as long as this, which stays where it is.
  [[nodiscard]] tare_backend_reduction hook();
  [[nodiscard]] const std::shared_ptr<Communicator>& communicator() const { return communicator_; }

 private:
  /// Throws where the greatest of all ranks' words are not this rank's.
  void compare(const std::array<std::uint64_t, 4>& all) const;
  void enqueue(std::int32_t what, void* data, kernels::Stream stream);
  void enqueue_slots(const kernels::fp8::Slots& slots, kernels::Stream stream);

  std::shared_ptr<Communicator> communicator_;
  std::array<std::uint64_t, 4> own_;   // count and digest with their complements
  std::vector<std::uint64_t> amaxes_;  // behind the call's words
  std::vector<double> counts_;
};

}  // namespace tare
