#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/edit/fill.hpp"
#include "lib/migrate/migrate.hpp"
#include "lib/migrate/stored.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

/// What a field of the checkpoint is to hold; null where the policy has nothing for it.
const StateValue* value_for(const ScalerState& state, const Field& field) {
  if (const StateValue* value = find(state, field.name)) return value;
  return field.role ? find(state, name(*field.role)) : nullptr;
}

std::optional<std::string> text_of(const StateValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return float_text(*real);
  return std::nullopt;
}

std::vector<Assignment> assignments(const ScalerState& state, const FoundScaler& scaler) {
  std::vector<Assignment> all;
  for (const Field& field : scaler.fields) {
    if (!field.editable) continue;
    const StateValue* value = value_for(state, field);
    const auto text = value == nullptr ? std::nullopt : text_of(*value);
    if (text) all.push_back({"native:" + field.name, *text});
  }
  return all;
}

bool is_loss_scaler(const Scaler& scaler) {
  return scaler.state().dialect->kind == "loss_scale";
}

/// Into a place that holds no scaler, and none is beside it that could be meant instead. Null where there is no such
/// place.
const Blank* blank_to_fill(const Checkpoint& into, const std::optional<std::string>& at) {
  const bool is_meant = std::any_of(into.scalers.begin(), into.scalers.end(), [&](const Scaler& scaler) {
    return is_loss_scaler(scaler) && (!at || scaler.state().path == *at);
  });
  return is_meant ? nullptr : empty_blank(into, at);
}

IntoPlan plan_filling(const ScalerState& source, const Checkpoint& into, const Blank& blank,
                      const IntoRequest& request) {
  const ConversionTarget target{std::string(blank.policy), std::string(blank.variant), request.given};
  IntoPlan plan{{convert(source, target), {}}, {}};
  const ScalerState& state = plan.migration.conversion.state;
  tell_of_unstored(plan.migration, *blank.dialect,
                   [&](std::string_view native, std::optional<Role>) { return holds(blank, native); });
  plan.edit = plan_fill(into, request.at, scaler_of(blank, state));
  return plan;
}

}  // namespace

IntoPlan plan_migration(const ScalerState& source, const Checkpoint& into, const IntoRequest& request) {
  if (const Blank* blank = blank_to_fill(into, request.at)) return plan_filling(source, into, *blank, request);
  if (std::none_of(into.scalers.begin(), into.scalers.end(), is_loss_scaler)) {
    throw Error(Status::refused, into.resolved + ": there is no loss scaler in it, and no empty place of one",
                "save it once with its scaler on and migrate into that, or write a file: --to FRAMEWORK -o FILE");
  }
  const FoundScaler& scaler =
      chosen_scalers(into, {.at = request.at, .align = request.align, .ways = "--into-at PLACE"}).front()->state();
  const ScalerState before = to_state(scaler);
  const rule::PolicySpec& policy = *policy_of(before);
  const ConversionTarget target{std::string(policy.name), std::string(policy.variant), request.given, before.params};
  IntoPlan plan{{convert(source, target), {}}, {}};
  tell_of_unstored(plan.migration, *scaler.dialect, [&](std::string_view native, std::optional<Role> role) {
    return scaler.find(native) != nullptr || (role && scaler.find(*role) != nullptr);
  });
  EditRequest edit;
  edit.set = assignments(plan.migration.conversion.state, scaler);
  edit.at = request.at;
  edit.align = request.align;
  edit.force = request.force;
  plan.edit = plan_edit(into, edit);
  return plan;
}

}  // namespace tare
