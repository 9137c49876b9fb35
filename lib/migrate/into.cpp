#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/edit/fill.hpp"
#include "lib/migrate/fp8_into.hpp"
#include "lib/migrate/keeper.hpp"
#include "lib/migrate/migrate.hpp"
#include "lib/state/fp8_policy.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

bool is_loss_scaler(const Scaler& scaler) {
  return scaler.state().dialect->kind == "loss_scale";
}

/// A place that holds no scaler, and none is beside it that could be meant instead. Nothing where there is no such
/// place.
std::optional<EmptyPlace> place_to_fill(const Checkpoint& into, const std::optional<std::string>& at) {
  const bool is_meant = std::any_of(into.scalers.begin(), into.scalers.end(), [&](const Scaler& scaler) {
    return is_loss_scaler(scaler) && (!at || scaler.state().path == *at);
  });
  return is_meant ? std::nullopt : empty_place_in(into, at);
}

IntoPlan plan_filling(const ScalerState& source, const Checkpoint& into, const EmptyPlace& place,
                      const IntoRequest& request) {
  const StateTemplate& form = *place.form;
  TemplateKeeper keeper(form);
  const ConversionTarget target{std::string(form.policy), std::string(form.variant), request.given, {}, &keeper};
  IntoPlan plan{{convert(source, target), {}}, {}};
  tell_of_configuration(plan.migration, *form.dialect, keeper, {});
  if (!place.read_by.empty()) plan.migration.conversion.warnings.emplace_back(place.read_by);
  plan.edit = plan_fill(into, request.at, scaler_of(form, plan.migration.conversion.state));
  return plan;
}

}  // namespace

IntoPlan plan_migration(const ScalerState& source, const Checkpoint& into, const IntoRequest& request) {
  if (find_fp8_policy(source.policy) != nullptr) return plan_fp8_migration(source, into, request);
  if (!request.modules.empty()) {
    throw Error(Status::invalid_argument, "a loss scaler is of no module", "--module is for FP8 state: --fp8");
  }
  if (const auto place = place_to_fill(into, request.at)) return plan_filling(source, into, *place, request);
  if (std::none_of(into.scalers.begin(), into.scalers.end(), is_loss_scaler)) {
    const bool has_fp8 = !into.scalers.empty();
    throw Error(Status::refused, into.resolved + ": there is no loss scaler in it, and no empty place of one",
                has_fp8
                    ? "it holds FP8 state: --fp8 takes that of SOURCE over"
                    : "save it once with its scaler on and migrate into that, or write a file: --to FRAMEWORK -o FILE");
  }
  const FoundScaler& scaler =
      chosen_scalers(into, {.at = request.at, .align = request.align, .ways = "--into-at PLACE"}).front()->state();
  const ScalerState before = to_state(scaler);
  const rule::PolicySpec& policy = *policy_of(before);
  CheckpointKeeper keeper(into, scaler, policy, request);
  const ConversionTarget target{std::string(policy.name), std::string(policy.variant), request.given, before.params,
                                &keeper};
  IntoPlan plan{{convert(source, target), {}}, {}};
  tell_of_configuration(plan.migration, *scaler.dialect, keeper, before.params);
  if (auto otherwise = grows_otherwise(scaler)) {
    plan.migration.conversion.warnings.push_back(fmt::format("{}: {}", into.resolved, *otherwise));
  }
  plan.edit = std::move(keeper.plan());
  return plan;
}

}  // namespace tare
