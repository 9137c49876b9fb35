// A scaler and its prepared lists in host memory. All is done when a call returns.
#pragma once

#include <vector>

#include "kernels/backend_edge.hpp"
#include "kernels/cpu/backend.hpp"
#include "kernels/scaler_core.hpp"

namespace tare::kernels::cpu {

/// Something that a scaler is told without a list; `what` as backend.h numbers it.
using Command = tare_backend_command;
using Pass = tare_backend_pass;

class CpuScaler {
 public:
  /// `threads`: that work on a list, the caller's among them. Throws std::system_error if they cannot be had.
  CpuScaler(unsigned threads, const rule::RunningState& running);

  ScalerCore* core() { return &core_; }
  /// What the rule raised.
  rule::Raised obey(const Command& command);
  /// How findings become those of all ranks; one without a function: they stay this rank's.
  void join_by(const tare_backend_reduction& reduction) { reduction_ = reduction; }

 private:
  friend class ScalerList;

  /// Throws a Refusal in a forked child: the threads stayed with the parent.
  void require_own_process() const;
  void follow_reduced();
  /// Throws a Refusal where ranks cannot be joined. `what`: as in tare_backend_findings.
  void join_ranks(std::int32_t what, Statistics& seen, std::int32_t& found_inf) const;
  void report(bool overflow);

  ScalerCore core_;
  unsigned threads_;
  int owner_;  // the process that made it
  CpuBackend backend_;
  tare_backend_reduction reduction_{};
  std::vector<ListCore*> lists_;
};

/// A prepared list whose findings go to a scaler. Throws std::bad_alloc.
class ScalerList {
 public:
  explicit ScalerList(CpuScaler& scaler);
  ~ScalerList();
  ScalerList(const ScalerList&) = delete;
  ScalerList& operator=(const ScalerList&) = delete;

  ListCore* core() { return &core_; }
  const ListCore& core() const { return core_; }
  std::span<const Statistics> each() const { return each_; }
  /// None, unless they are counted.
  std::span<const FiniteValues> finite() const { return finite_; }
  void count_finite() { counts_finite_ = true; }
  /// Without the memory the list is empty.
  void assign(std::span<const Tensor> tensors);
  /// False (and nothing done) for other counts or dtypes.
  bool rebind(std::span<const Tensor> tensors);
  /// What the step raised.
  rule::Raised run(const Pass& pass);
  /// After a caller's reduction of the list's found-inf.
  void follow_reduced();

 private:
  template <class Run>
  void look(const Pass& pass, double clip_norm, const Run& run);
  void write(const Pass& pass);

  CpuScaler& scaler_;
  std::unique_ptr<TensorList> list_;
  std::size_t count_ = 0;
  ListCore core_;
  std::vector<Statistics> each_;      // one a tensor
  std::vector<FiniteValues> finite_;  // likewise, where they are counted
  bool counts_finite_ = false;
};

}  // namespace tare::kernels::cpu
