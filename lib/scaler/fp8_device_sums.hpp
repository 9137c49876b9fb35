// Gradients on a GPU that ranks sum in fp8, as fp8_all_reduce.hpp has it for the host's: enqueued, bit for bit the
// same.
#pragma once

#include <optional>

#include "kernels/fp8/slots.hpp"
#include "lib/scaler/fp8_gradients.hpp"
#include "lib/scaler/fp8_reduction.hpp"
#include "lib/scaler/handles.hpp"

namespace tare {

class Fp8DeviceSums {
 public:
  /// All three outlive it.
  Fp8DeviceSums(const tare_backend_table& backend, tare_backend_slots* slots, Fp8Reduction& reduction);

  /// A call of all ranks, in place. Waits for `stream` where the list is another than in the last call, and then throws
  /// `mismatch` on every rank that waits too; else nothing waits, and it may be captured. Throws what an engine without
  /// the exchange, or the adder, throws.
  void run(const GradientList& list, const AllReduceOptions& options, kernels::Stream stream);
  /// The slots may have another mu than they had: the next call compares it.
  void forget() { agreed_.reset(); }

 private:
  void know_ranks(kernels::Stream stream);
  /// Throws `mismatch`.
  void compare(const GradientList& list, std::uint64_t digest, kernels::Stream stream);
  tare_backend_sums* sums_of(const GradientList& list, const tare_backend_sum& how);

  const tare_backend_table& backend_;
  tare_backend_slots* slots_;
  Fp8Reduction& reduction_;
  tare_backend_reduction hook_;
  RecentLists<tare_backend_sums> sums_;
  std::uint64_t ranks_ = 0;  // 0: not known yet
  std::uint64_t rank_ = 0;
  std::optional<std::uint64_t> agreed_;  // the digest of what all ranks had in their last call
};

}  // namespace tare
