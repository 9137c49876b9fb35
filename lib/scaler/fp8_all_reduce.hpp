// Gradients of many ranks become their mean, or their sum, in FP8: FP8-LM ("FP8-LM: Training FP8 Large Language
// Models", arXiv 2310.18313, 2.1), with MS-AMP's fixed factor in the place of mu where the slots have none.
//
// clang-format off
//   of each tensor   amax: the greatest of all ranks; factor: the largest of the format / amax * mu, the same on all;
//                    mu: the slot's of policy fp8_lm, else 1 / sqrt(ranks)
//   of each value    fp8 of value * factor
//   all-to-all       each rank gets the same share of what all have; its sum, in f32, in the ranks' order; fp8 of that
//   all-gather       every rank gets all sums; value = sum / factor, by the number of ranks for a mean
// clang-format on
//
// So a value is rounded twice, whatever the number of ranks. What reaches the largest in the sums counts for fp8_lm's
// mu. A tensor that is not finite on any rank is NaN on all of them, and counts for nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/fp8/slots.hpp"
#include "kernels/launch.hpp"
#include "lib/collective/communicator.hpp"
#include "lib/scaler/fp8_gradients.hpp"

namespace tare {

class Fp8AllReduce {
 public:
  explicit Fp8AllReduce(std::shared_ptr<Communicator> communicator) : communicator_(std::move(communicator)) {}

  /// A call of all ranks, in place, in host memory. Throws `mismatch` on every rank where their tensors, slots or mu
  /// are not alike, `unsupported` where the engine exchanges no bytes, or does not add; then nothing has changed. Where
  /// the engine fails on the way gradients may be anything; the slots are as they were.
  void run(const kernels::fp8::Slots& slots, const GradientList& list, const AllReduceOptions& options);

 private:
  struct Shared {
    float up;    ///< what values are multiplied by to become fp8
    float down;  ///< what sums are multiplied by
    float largest;
    Dtype format;
    bool is_finite;
  };
  /// What a bucket of all tensors' values, one after another, has of one of them.
  struct Stretch {
    std::size_t tensor;
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t at;  ///< in the bucket
  };

  void know_ranks();
  void require_alike(const kernels::fp8::Slots& slots, const AllReduceOptions& options);
  void share_factors(const kernels::fp8::Slots& slots, Combined combined);
  template <class Visit>
  void each_stretch(std::uint64_t begin, std::uint64_t end, const Visit& visit) const;
  void exchange(std::uint64_t begin, std::uint64_t size);
  void add_up(const Stretch& stretch, std::uint64_t share);
  void note(const kernels::fp8::Slots& slots) const;

  std::shared_ptr<Communicator> communicator_;
  std::uint64_t ranks_ = 0;  // 0: not known yet
  std::uint64_t rank_ = 0;
  GradientList list_;  // of the call that runs
  std::vector<std::uint64_t> amaxes_;
  std::vector<Shared> shared_;
  std::vector<std::uint64_t> at_largest_;  // of the sums of this rank's shares, by tensor, as the next
  std::vector<std::uint64_t> seen_;
  std::vector<std::uint8_t> own_;     // a bucket: this rank's values, then all sums
  std::vector<std::uint8_t> shares_;  // this rank's share of what each has
  std::vector<std::uint8_t> summed_;
};

}  // namespace tare
