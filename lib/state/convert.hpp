// One framework's scaler state in another framework's terms, and an account of every value: what came over, what had to
// be computed, what the target adds, what is lost. Counters are set so that the next growth comes at the same clean
// step, and the next back-off at the same overflow; both are measured on the rules themselves (behaviour.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/rule/policy.hpp"
#include "lib/state/divergence.hpp"
#include "lib/state/role.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// What became of a value.
enum class Outcome : std::uint8_t {
  carried,    ///< the same value means the same
  converted,  ///< another value that means the same
  given,      ///< the user's
  assumed,    ///< the source's framework knows it, this state does not hold it: that framework's default, carried over
  kept,       ///< the target's own, which the source has no better word for
  defaulted,  ///< the target has it, the source has nothing of the kind: the target framework's default
  clamped,    ///< moved into the range that the target allows
  implied,    ///< the target has no place for it and needs none: its rule goes on as this value says
  lost,       ///< the source has it, the target has no place for it
};

std::string_view name(Outcome outcome);

struct ConvertedValue {
  Outcome outcome = Outcome::lost;
  std::string key;           ///< of the target, in full: "fields.scale"; of the source where it is implied or lost
  std::string source_key;    ///< "fields.loss_scale"; empty where the source has none
  std::optional<Role> role;  ///< in tare's words
  StateValue before;         ///< the source's; nothing where it has none
  StateValue after;          ///< the target's; nothing where it is implied or lost
  std::string why;           ///< formula, default's owner, reason; empty for what was carried
};

struct Conversion {
  ScalerState state;  ///< to be saved
  /// What the target's framework goes on with once that is saved and loaded, told of what is to be configured.
  ScalerState resumed;
  std::vector<ConvertedValue> values;  ///< the target's in its own order, then what is implied or lost
  std::vector<std::string> warnings;   ///< traps: sentences
  /// Where the source and what is resumed part first if both go on; nothing: on all steps that were tried they stay
  /// equal.
  std::optional<Divergence> divergence;
  std::optional<Divergence> usual_divergence;  ///< the same where no bound is near
};

/// How a framework keeps a scaler: what of a state is in its file, and what it is told.
class Keeper {
 public:
  virtual ~Keeper() = default;
  /// Whether the file holds that parameter.
  [[nodiscard]] virtual bool holds(const rule::ParameterSpec& parameter) const = 0;
  /// Whether the framework can be told a parameter that the file does not hold.
  [[nodiscard]] virtual bool is_told(const rule::ParameterSpec& parameter) const = 0;
  /// One sentence for a value that it neither holds nor is told.
  [[nodiscard]] virtual std::string why_not(std::string_view native, std::optional<Role> role) const = 0;
  /// The fields and parameters that are found in the file again once the state is saved, as its framework loads them.
  [[nodiscard]] virtual ScalerState saved(const ScalerState& state) = 0;
};

/// What to convert to, and what the user says about it.
struct ConversionTarget {
  std::string policy;
  std::string variant;  ///< empty: the usual one
  /// Values by role or native name, for what the source does not hold: taken for the source's where its policy knows
  /// the name, else for the target's.
  StateSection given;
  /// Parameters of a scaler that is there and takes the state over: they stay where the source does not store its own.
  StateSection existing = {};
  Keeper* keeper = nullptr;  ///< null: all of a state is kept, as in tare's own files
};

/// Throws `unsupported` for a policy that no rule runs, NoRule for one that follows statistics; `invalid_argument` for
/// an unknown target or a given key that neither side knows; `mismatch` for values that do not fit; and what the keeper
/// throws.
Conversion convert(const ScalerState& source, const ConversionTarget& target);

/// "step 17 of overflows alone: the source's scale is 0.5, the target's 1.0" ...
std::string sentence(const Divergence& divergence);

}  // namespace tare
