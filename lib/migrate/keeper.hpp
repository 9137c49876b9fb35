// How a framework's file keeps a scaler: found out by writing it, and finding it in there again.
#pragma once

#include "lib/dialect/state_template.hpp"
#include "lib/edit/plan.hpp"
#include "lib/migrate/migrate.hpp"

namespace tare {

/// What all files of one dialect have in common.
class DialectKeeper : public Keeper {
 public:
  DialectKeeper(const Dialect& dialect, const rule::PolicySpec& policy) : dialect_(dialect), policy_(policy) {}

  [[nodiscard]] bool is_told(const rule::ParameterSpec& parameter) const override;
  [[nodiscard]] std::string why_not(std::string_view native, std::optional<Role> role) const override;

 protected:
  /// `scaler`, found in the file, as its framework loads it. REQUIRES: no configuration, since a run is told anew.
  [[nodiscard]] ScalerState loaded(const FoundScaler& scaler) const;
  /// A name that is a field's is not a parameter's: apex.amp has a `loss_scale` of both kinds.
  [[nodiscard]] bool is_field(std::string_view name) const;

  const Dialect& dialect_;
  const rule::PolicySpec& policy_;
};

/// A file that holds the scaler alone.
class TemplateKeeper final : public DialectKeeper {
 public:
  explicit TemplateKeeper(const StateTemplate& form);

  [[nodiscard]] bool holds(const rule::ParameterSpec& parameter) const override;
  /// REQUIRES: a state of the form's policy and variant.
  [[nodiscard]] ScalerState saved(const ScalerState& state) override;

 private:
  const StateTemplate& template_;
};

/// A scaler that is in a checkpoint and gets other values.
class CheckpointKeeper final : public DialectKeeper {
 public:
  /// REQUIRES: all outlive it; `scaler` is the checkpoint's that `request` means.
  CheckpointKeeper(const Checkpoint& checkpoint, const FoundScaler& scaler, const rule::PolicySpec& policy,
                   const IntoRequest& request);

  [[nodiscard]] bool holds(const rule::ParameterSpec& parameter) const override;
  [[nodiscard]] std::string why_not(std::string_view native, std::optional<Role> role) const override;
  /// Plans the edit that saves it. Throws as plan_edit does.
  [[nodiscard]] ScalerState saved(const ScalerState& state) override;
  /// REQUIRES: `saved` was called.
  [[nodiscard]] EditPlan& plan() { return plan_; }

 private:
  const Checkpoint& checkpoint_;
  const FoundScaler& scaler_;
  FoundScaler after_;  ///< without a configuration: a run is told anew
  const IntoRequest& request_;
  EditPlan plan_;
};

/// Parameters that the target is to be told, and how: those that are neither as it was told before nor, where nothing
/// says that, its framework's defaults.
void tell_of_configuration(Migration& migration, const Dialect& dialect, const Keeper& keeper,
                           const StateSection& told_before);

}  // namespace tare
