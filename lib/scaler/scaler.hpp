// A running loss scaler: a rule, buffers where it computes, and the state. One interface for every device: pointers may
// be the device's, and nothing here waits but what says so.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/launch.hpp"
#include "kernels/scaler_core.hpp"
#include "lib/scaler/config.hpp"

namespace tare {

/// The numbers are those of the C ABI: never changed, never reused.
enum class Shown : std::int32_t { scale = 1, inverse_scale = 2, found_inf = 3, noop = 4, multiplier = 5 };

/// Throws `invalid_argument` for a number that is none of them.
const void* pointer_to(const kernels::ShownValues& shown, Shown which);

/// Throws `rule_raised` and says what the rule said.
[[noreturn]] void raise(const rule::Policy& policy, rule::Raised raised);

/// Throws `wrong_kind` for a policy that overflows drive.
void require_layerwise(const rule::Policy& policy);

struct WriteOptions {
  bool unscale = true;
  double clip_norm = 0;   ///< 0: off
  double clip_value = 0;  ///< 0: off
};

/// A JSON object with those names; null or empty: the defaults. Throws `invalid_argument`.
WriteOptions parse_write_options(const char* json);

/// Options as text that is parsed only when it changes: nothing is allocated for what is already known.
class KnownWriteOptions {
 public:
  const WriteOptions& parsed(const char* json) {
    const char* text = json == nullptr ? "" : json;
    if (text_ != text) {
      options_ = parse_write_options(text);
      text_ = text;
    }
    return options_;
  }

 private:
  std::string text_;
  WriteOptions options_;
};

struct Accumulators {
  void* data;
  std::uint64_t bytes;
};

/// A list made ready once, used every step; it belongs to a scaler and goes before it. Throws what the scaler throws.
class Grads {
 public:
  virtual ~Grads() = default;
  virtual void rebind(std::span<const kernels::Tensor> tensors, kernels::Stream stream) = 0;
  virtual void unscale(kernels::Stream stream) = 0;
  virtual void observe(kernels::Stream stream) = 0;
  /// The same and the scaler's update; one launch on a GPU.
  virtual void unscale_and_update(kernels::Stream stream) = 0;
  virtual void observe_and_update(kernels::Stream stream) = 0;
  /// Texts of options are parsed when they change.
  virtual void write(std::span<const kernels::Tensor> outputs, const char* options, kernels::Stream stream) = 0;
  [[nodiscard]] virtual const void* pointer(Shown which) const = 0;
  /// JSON "tare.grads/1": what the last pass found, in total and by tensor. Waits.
  [[nodiscard]] virtual std::string statistics(kernels::Stream stream) const = 0;
};

class LossScaler {
 public:
  virtual ~LossScaler() = default;

  [[nodiscard]] virtual rule::PolicyId policy() const = 0;
  /// All that it is, where it computes: perhaps memory of a device.
  [[nodiscard]] virtual kernels::ScalerCore& memory() = 0;
  /// A copy of that. Waits.
  [[nodiscard]] virtual kernels::ScalerCore snapshot(kernels::Stream stream) const = 0;
  /// Waits.
  [[nodiscard]] virtual double scale(kernels::Stream stream) const = 0;
  /// Stable for the scaler's life.
  [[nodiscard]] virtual const void* pointer(Shown which) const = 0;
  [[nodiscard]] virtual Accumulators accumulators() const = 0;

  /// Throw `invalid_argument` or `unsupported` for a list that cannot be read or written.
  virtual void unscale(std::span<const kernels::Tensor> tensors, kernels::Stream stream) = 0;
  virtual void observe(std::span<const kernels::Tensor> tensors, kernels::Stream stream) = 0;
  virtual void report_overflow(bool overflow, kernels::Stream stream) = 0;
  /// After a caller's own reduction of the accumulators: noop, and found-inf and noop of its lists, say what found-inf
  /// says now.
  virtual void report_reduced(kernels::Stream stream) = 0;
  /// What the next update of a layer goes by; a second one takes the first's place. Throws `wrong_kind` for a policy
  /// other than layerwise.
  virtual void report_layer(const rule::LayerStatistics& layer, kernels::Stream stream) = 0;
  /// Throws `rule_raised` where the rule does; the state is then what the framework's object would hold.
  virtual void update(kernels::Stream stream) = 0;
  virtual void set_scale(double scale, kernels::Stream stream) = 0;

  /// JSON "tare.statistics/1". Waits.
  [[nodiscard]] virtual std::string statistics(kernels::Stream stream) const = 0;
  [[nodiscard]] virtual ScalerState save(kernels::Stream stream) const = 0;
  virtual void load(const ScalerState& state, kernels::Stream stream) = 0;

  virtual std::unique_ptr<Grads> make_grads(std::span<const kernels::Tensor> tensors) = 0;
};

std::unique_ptr<LossScaler> make_scaler(const ScalerConfig& config);

/// Every policy with its parameters, ranges and fields as JSON "tare.policies/1".
std::string policies_json();

}  // namespace tare
