// A running loss scaler: a rule, buffers where it computes, and the state. Pointers may be a device's, and nothing here
// waits but what says so. A rule that raises is told at once by the CPU, and by the next call that waits on a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/launch.hpp"
#include "kernels/scaler_core.hpp"
#include "lib/scaler/config.hpp"
#include "lib/scaler/handles.hpp"
#include "lib/scaler/reduction.hpp"
#include "lib/scaler/statistics.hpp"
#include "lib/scaler/write_options.hpp"

namespace tare {

/// The numbers are those of the C ABI: never changed, never reused.
enum class Shown : std::int32_t { scale = 1, inverse_scale = 2, found_inf = 3, noop = 4, multiplier = 5 };

/// Throws `invalid_argument` for a number that is none of them.
const void* pointer_to(const kernels::ShownValues& shown, Shown which);

/// Throws `rule_raised` and says what the rule said.
[[noreturn]] void raise(const rule::Policy& policy, rule::Raised raised);

struct Accumulators {
  void* data;
  std::uint64_t bytes;
};

class Grads;

class LossScaler {
 public:
  /// Throws `unsupported` in a build without CUDA, `backend` where there is no such device.
  explicit LossScaler(const ScalerConfig& config);

  [[nodiscard]] rule::PolicyId policy() const { return policy_.id; }
  /// The number of its GPU; below 0: the CPU.
  [[nodiscard]] int cuda_device() const { return device_; }
  /// Below which values count as such.
  [[nodiscard]] double threshold() const { return threshold_; }
  /// All that it is, where it computes: perhaps memory of a device.
  [[nodiscard]] kernels::ScalerCore& memory() const;
  /// A copy of that. Waits; throws what the rule raised, or ranks parted in, since the last time.
  [[nodiscard]] kernels::ScalerCore snapshot(kernels::Stream stream) const;
  /// Waits.
  [[nodiscard]] double scale(kernels::Stream stream) const;
  /// Stable for the scaler's life. Throws `invalid_argument` for a number that is none.
  [[nodiscard]] const void* pointer(Shown which) const;
  [[nodiscard]] Accumulators accumulators() const;

  /// Throw `invalid_argument` or `unsupported` for a list that cannot be read or written.
  void unscale(std::span<const kernels::Tensor> tensors, kernels::Stream stream);
  void observe(std::span<const kernels::Tensor> tensors, kernels::Stream stream);
  /// Multiplies by the scale, in place, and notes nothing.
  void scale_up(std::span<const kernels::Tensor> tensors, kernels::Stream stream);
  void report_overflow(bool overflow, kernels::Stream stream);
  /// After a caller's own reduction of the accumulators: noop, and found-inf and noop of its lists, say what found-inf
  /// says now.
  void report_reduced(kernels::Stream stream);
  /// What passes and overflow reports find is joined with what the other ranks of the communicator find, which have to
  /// make the same calls; null: no longer. Throws `unsupported` where the communicator is for another place,
  /// `wrong_kind` for policy layerwise, `refused` between a pass and its update.
  void set_communicator(std::shared_ptr<Communicator> communicator, Gradients gradients);
  /// What the next update of a layer goes by; a second one takes the first's place. Throws `wrong_kind` for a policy
  /// other than layerwise, `invalid_argument` for a prev_scale that is not positive.
  void report_layer(const rule::LayerStatistics& layer, kernels::Stream stream);
  /// Throws `rule_raised` where the rule does; the state is then what the framework's object would hold.
  void update(kernels::Stream stream);
  /// The rule on a state that lies elsewhere, where the scaler computes. Throws `wrong_kind` for a policy other than
  /// torch.
  void update_elsewhere(const kernels::TorchPlaces& places, kernels::Stream stream);
  void set_scale(double scale, kernels::Stream stream);

  /// What it tells of itself. Waits.
  [[nodiscard]] ScalerReport report(kernels::Stream stream) const;
  /// That as JSON "tare.statistics/1".
  [[nodiscard]] std::string statistics(kernels::Stream stream) const;
  /// Wait.
  [[nodiscard]] ScalerState save(kernels::Stream stream) const;
  void load(const ScalerState& state, kernels::Stream stream);

  std::unique_ptr<Grads> make_grads(std::span<const kernels::Tensor> tensors);

 private:
  friend class Grads;

  void command(const tare_backend_command& command, kernels::Stream stream);
  /// A pass that unscales, as far as `what` (TARE_BACKEND_OBSERVE ...) does so.
  [[nodiscard]] tare_backend_pass pass_of(std::int32_t what) const;
  void run(tare_backend_list* list, const tare_backend_pass& pass, kernels::Stream stream) const;
  tare_backend_list* list_of(std::span<const kernels::Tensor> tensors);

  const tare_backend_table& backend_;
  int device_;           // of CUDA; below 0: the CPU
  rule::Policy policy_;  // as where it computes
  double threshold_;
  bool counts_finite_;
  std::unique_ptr<Reduction> reduction_;  // which the backend calls
  BackendHandle<tare_backend_scaler> scaler_;
  RecentLists<tare_backend_list> lists_;
};

/// A list made ready once, used every step; it belongs to a scaler and goes before it. Throws what the scaler throws.
class Grads {
 public:
  Grads(LossScaler& scaler, std::span<const kernels::Tensor> tensors);

  void rebind(std::span<const kernels::Tensor> tensors);
  void unscale(kernels::Stream stream);
  void observe(kernels::Stream stream);
  /// The same and the scaler's update; one launch on a GPU.
  void unscale_and_update(kernels::Stream stream);
  void observe_and_update(kernels::Stream stream);
  /// Texts of options are parsed when they change.
  void write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream);
  [[nodiscard]] const void* pointer(Shown which) const;
  [[nodiscard]] Accumulators accumulators() const;
  /// After a caller's own reduction of them: the list's noop says what its found-inf says now, and the scaler takes it
  /// in.
  void report_reduced(kernels::Stream stream);
  /// As they were given; rebind changes where they lie, not what they are.
  [[nodiscard]] std::span<const kernels::Tensor> tensors() const { return tensors_; }
  [[nodiscard]] const LossScaler& scaler() const { return scaler_; }
  /// Whether passes tell of finite values beside others.
  [[nodiscard]] bool counts_finite() const { return scaler_.counts_finite_; }
  /// For those who enqueue what is read later.
  [[nodiscard]] tare_backend_list* backend_list() { return list_.get(); }
  /// What the last pass found, in total and by tensor. Waits.
  [[nodiscard]] GradsReport last_pass(kernels::Stream stream) const;
  /// That as JSON "tare.grads/1".
  [[nodiscard]] std::string statistics(kernels::Stream stream) const;

 private:
  void pass(std::int32_t what, bool steps, kernels::Stream stream);
  void run(const tare_backend_pass& pass, kernels::Stream stream);
  /// Where it computes.
  [[nodiscard]] kernels::ListCore& memory() const;

  LossScaler& scaler_;
  std::vector<kernels::Tensor> tensors_;
  bool writable_ = false;               // a matter of dtypes alone, which rebind keeps
  bool total_is_of_all_ranks_ = false;  // of the last pass
  BackendHandle<tare_backend_list> list_;
  KnownWriteOptions options_;
};

std::unique_ptr<LossScaler> make_scaler(const ScalerConfig& config);

/// Every policy with its parameters, ranges and fields as JSON "tare.policies/1".
std::string policies_json();

}  // namespace tare
