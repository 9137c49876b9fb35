// The state that a conversion starts from: what it stores, what the user adds, what is taken from the scaler that takes
// over, and its framework's defaults for the rest.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/rule/policy.hpp"
#include "lib/state/convert.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

/// A value of the source, and where it stands.
struct SourceValue {
  std::string key;                     ///< in full: "fields.scale"
  StateValue value;                    ///< std::monostate: not set
  Outcome outcome = Outcome::carried;  ///< what it is where the target takes it as it is
};

class ConversionSource {
 public:
  /// Throws as convert does. REQUIRES: `target` outlives it.
  ConversionSource(const ScalerState& state, const rule::PolicySpec& target_policy, const ConversionTarget& target);

  [[nodiscard]] const rule::PolicySpec& policy() const { return *policy_; }
  /// What the state itself stores, under its policy's own names.
  [[nodiscard]] const ScalerState& stored() const { return stored_; }
  [[nodiscard]] const rule::RunningState& running() const { return running_; }
  [[nodiscard]] std::optional<SourceValue> value(std::string_view role) const;
  /// What a parameter of the target is to be: of the same policy by name, of another one by role.
  [[nodiscard]] std::optional<SourceValue> value_for(const rule::ParameterSpec& parameter) const;
  /// A value of that full key.
  [[nodiscard]] std::optional<SourceValue> at(const std::string& section, std::string_view name) const;
  /// Whether the user's value of that key became the source's.
  [[nodiscard]] bool took(std::string_view given_key) const { return taken_.contains(given_key); }

 private:
  void give(const StateSection& given);
  void take_existing(const StateSection& existing);

  ScalerState stored_;
  const rule::PolicySpec* policy_ = nullptr;
  const rule::PolicySpec& target_policy_;
  rule::RunningState running_;
  ScalerState all_;                           ///< with its framework's defaults filled in
  std::set<std::string, std::less<>> taken_;  ///< keys of the user's
  std::set<std::string, std::less<>> given_;  ///< names of the source that the user gave
  std::vector<std::string_view> given_parameters_;
  std::set<std::string, std::less<>> kept_;  ///< names of the source that are the target's own
};

}  // namespace tare
