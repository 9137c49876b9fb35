// What a run's tensors are like, step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/launch.hpp"
#include "lib/monitor/config.hpp"
#include "lib/monitor/examiner.hpp"
#include "lib/monitor/gpu_looks.hpp"
#include "lib/monitor/observed.hpp"
#include "lib/monitor/writer.hpp"
#include "lib/scaler/scaler.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare::monitor {

class Monitor {
 public:
  explicit Monitor(Config config);
  /// Waits for GPUs, so that the sinks get the last step, too; one that is lost is told to nobody.
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Is a tensor of that group and name looked at in the step under way?
  [[nodiscard]] bool looks_at(const std::string& group, const std::string& name) const;

  /// Notes tensors of the step under way, at once, where they are looked at; else they are not touched.
  /// `names` are as many as the tensors. Their values bear `scale`, and are told without it. Throws as require_usable
  /// does, and `invalid_argument` for a scale that is not above 0 or not finite; then nothing is noted.
  void observe(const std::string& group, std::span<const std::string> names, std::span<const kernels::Tensor> tensors,
               double scale = 1);

  /// The same of tensors in the memory of a GPU: enqueues a look on the stream, whose turn it is then, and borrows
  /// their values until that has run. So it does with a scale that lies there; where that turns out to be none, the
  /// tensors are noted as if they held no values.
  void observe_on_gpu(int gpu, const std::string& group, std::span<const std::string> names,
                      std::span<const kernels::Tensor> tensors, const kernels::BorneScale& scale,
                      kernels::Stream stream);

  /// Notes that a tensor of the step under way, observed as `known` of `known_group`, goes by this group and name, too,
  /// where that is looked at. Throws `invalid_argument` where the other was not looked at in the step. The last tensors
  /// are searched first.
  void observe_again(const std::string& group, const std::string& name, const std::string& known_group,
                     const std::string& known);

  /// Notes what the last pass of a list found, likewise. Does not touch the gradients; waits for the pass. `names` are
  /// as many as the list's tensors. Throws what the scaler throws, and then nothing is noted.
  void add_gradients(const Grads& grads, std::span<const std::string> names, kernels::Stream stream);

  /// The same where a GPU has it, which nobody waits for: as observe_on_gpu. Lists of the CPU are added at once.
  void add_gradients_on_gpu(Grads& grads, std::span<const std::string> names, kernels::Stream stream);

  /// Notes how a scaler of somebody else's stands, in the place of the lists', likewise.
  void add_scaler(const ScalerSeen& scaler);
  /// The same of one that stands in the memory of a GPU.
  void add_scaler_on_gpu(int gpu, const kernels::ScalerPlaces& places, kernels::Stream stream);

  /// Ends the step under way, whose number this is: what was noted is examined, and goes to the sinks. Of a step with
  /// looks of GPUs that is done by the first call of this that comes behind them, or by wait().
  void step(std::int64_t number);
  /// Whether the last step that was looked at is examined, as far as GPUs have got.
  [[nodiscard]] bool is_settled();
  /// Waits for GPUs, so that it is.
  void wait();

  /// What the steps that ended leave for those to come; what was noted of the step under way, and the last report, are
  /// no part of it.
  [[nodiscard]] ScalerState save() const;
  /// Goes on where that was saved, with this monitor's own configuration. Throws as saved_from does, and then nothing
  /// changes.
  void load(const ScalerState& state);

  /// "tare.monitor/1": the last step that was looked at, and what is wrong with sinks. Waits for the writer.
  [[nodiscard]] std::string report() const;
  /// "tare.at-scale/1": what would become of the tensors of the last step that was looked at. Throws `invalid_argument`
  /// for such a scale, and for a format that is none of find_narrow_format.
  [[nodiscard]] std::string at_scale(double scale, const std::string& format) const;
  /// "tare.findings/1": what was wrong at the last step that was looked at.
  [[nodiscard]] std::string findings() const;

 private:
  /// Of tensors that are looked at, with summaries to come.
  [[nodiscard]] std::vector<Observed> chosen(const std::string& group, std::span<const std::string> names,
                                             std::span<const kernels::Tensor> tensors,
                                             std::vector<kernels::Tensor>& looked_at) const;
  /// Leaves it empty, or as it was where it throws.
  void examine(ObservedStep& ended);
  void tell_failures(ObservedStep& ended, std::size_t count) const;
  /// In the step under way, at anything.
  [[nodiscard]] bool looks() const { return steps_ % every_ == 0; }

  std::int64_t every_;
  std::vector<GroupConfig> groups_;
  Examiner examiner_;
  std::int64_t steps_ = 0;  ///< that ended
  ObservedStep under_way_;
  GpuLooks gpu_looks_;                   // of the step that is awaited, or of the one under way
  std::optional<ObservedStep> awaited_;  // has ended
  std::shared_ptr<const ObservedStep> last_;
  std::vector<bool> told_failures_;  ///< of each sink
  Writer writer_;
};

}  // namespace tare::monitor
