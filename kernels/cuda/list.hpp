// Lists and scalers on a GPU. Calls enqueue on the stream that they are given and return; what waits says so. What is
// done with a scaler and its lists counts in the order of the calls, whatever streams they come on (order.hpp).
//
// Any call that does not wait may be captured. A graph has all that it needs: the addresses that a pass looks at are
// those of the capture, and lists that were captured stay as they are for life.
#pragma once

#include <mutex>
#include <vector>

#include "kernels/cuda/order.hpp"
#include "kernels/cuda/small_kernels.hpp"
#include "kernels/cuda/torn.hpp"
#include "kernels/cuda/work.hpp"

namespace tare::kernels::cuda {

/// A ScalerCore in device memory. Throws Failures.
class DeviceScaler {
 public:
  /// Waits.
  DeviceScaler(int device, const rule::RunningState& running);
  ~DeviceScaler();
  DeviceScaler(const DeviceScaler&) = delete;
  DeviceScaler& operator=(const DeviceScaler&) = delete;

  const Device& device() const { return device_; }
  ScalerCore* core() const { return core_.data(); }
  /// `asked.core` is set here.
  void obey(CommandArguments asked, cudaStream_t stream);
  /// After a caller's reduction of found-inf: noop, and what the lists show, say the same.
  void follow_reduced(cudaStream_t stream);
  /// How findings become those of all ranks; one without a function: they stay this rank's.
  void join_by(const tare_backend_reduction& reduction);
  bool joins_ranks() const { return reduction_.enqueue != nullptr; }
  /// Within a turn, behind what was found: two launches around the reduction. `asked`: a list or a report, and
  /// asked.ranks but for the record.
  void join_ranks(CommandArguments asked, cudaStream_t stream);
  /// Waits; not in a capture. What the rule raised, or ranks parted in, is there once. Several threads may read at
  /// once.
  ScalerCore read(cudaStream_t stream) const;

  Order& order() { return order_; }
  /// A list that shows found-inf, until it is forgotten.
  void know(ListCore* list) { lists_.push_back(list); }
  void forget(ListCore* list);

 private:
  void launch(CommandArguments& asked, cudaStream_t stream) const;

  Device device_;
  Order order_;
  Room<ScalerCore> core_;
  Room<RankRecord> record_;
  tare_backend_reduction reduction_{};
  std::vector<ListCore*> lists_;
};

enum class Pass : std::int32_t { observe = 1, unscale = 2, write = 3, scale = 4 };

struct PassRequest {
  Pass pass = Pass::observe;
  bool unscales = true;             ///< write: multiply by the inverse scale
  bool steps = false;               ///< the scaler's step follows in the same launch; not with clip_norm
  float limit = __builtin_inff();   ///< write: of clipping by value
  double clip_norm = 0;             ///< write: above 0 a first pass finds the norm
  double threshold = 0;             ///< for Statistics::below
  const Tensor* outputs = nullptr;  ///< write
};

/// A prepared list whose findings go to a scaler. Throws Failures and std::bad_alloc.
class DeviceList {
 public:
  explicit DeviceList(DeviceScaler& scaler);
  ~DeviceList();
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  int device() const { return scaler_.device().ordinal(); }
  ListCore* core() const { return &core_.data()->list; }
  /// Passes count finite values beside others from now on. Before the first assign.
  void count_finite() { counts_finite_ = true; }
  bool counts_finite() const { return counts_finite_; }
  /// As DeviceWork's; a captured list is refused.
  void assign(std::span<const Tensor> tensors);
  bool rebind(std::span<const Tensor> tensors) { return work_.rebind(tensors); }
  bool is_captured() const { return work_.is_captured(); }
  std::size_t size() const { return work_.list().tensors().size(); }
  void run(const PassRequest& request, cudaStream_t stream);
  /// After a caller's reduction of the list's found-inf.
  void follow_reduced(cudaStream_t stream);
  /// Enqueues copies of what the last pass found, of each tensor, and of the scaler as it stands then, into pinned
  /// memory; not in a capture. Of a list without a pass `each` is undefined, and core's seen.count 0. `finite`: where
  /// they are counted.
  void leave(Statistics* each, FiniteValues* finite, ListCore* core, ScalerCore* scaler, cudaStream_t stream);
  /// Waits; not in a capture. `each` and, where they are counted, `finite`: one a tensor, of which nothing is known
  /// before a pass. Several threads may read at once.
  ListCore read(Statistics* each, cudaStream_t stream, FiniteValues* finite = nullptr) const;

 private:
  struct Core {
    ListCore list;
    std::uint32_t ticket;
    std::uint32_t cursor;
  };

  PassArguments arguments(const PassRequest& request) const;
  void enqueue(const PassRequest& request, Capture capture, cudaStream_t stream);
  Kernel kernel_that_writes(const PassRequest& request) const;
  void launch(Kernel kernel, const PassArguments& pass, cudaStream_t stream);
  /// Each tensor's statistics, and its finite values where they are counted.
  void fold(Statistics* each, FiniteValues* finite, cudaStream_t stream) const;
  /// Before a pass that writes: what is not finite is looked at while it is as it was.
  void look_ahead(PassArguments pass, cudaStream_t stream);
  /// At what is not finite in what a pass has found.
  void look_at_torn(cudaStream_t stream);
  TornArguments torn_arguments() const;
  /// A launch whose findings count.
  void look(Kernel kernel, const PassArguments& pass, const PassRequest& request, cudaStream_t stream);

  DeviceScaler& scaler_;
  DeviceWork work_;
  Room<Core> core_;
  Room<double> sums_;  // a piece's, here and below
  Room<PieceCounts> counts_;
  Room<BlockCounts> block_counts_;
  Room<Statistics> each_;
  bool counts_finite_ = false;
  Room<FiniteValues> torn_;     // a piece's, of which a value is not finite
  Room<FiniteValues> finite_;   // a tensor's
  mutable std::mutex reading_;  // each_, finite_
};

}  // namespace tare::kernels::cuda
