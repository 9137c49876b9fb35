#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/container/new_container.hpp"
#include "lib/dialect/state_template.hpp"
#include "lib/migrate/keeper.hpp"
#include "lib/migrate/migrate.hpp"
#include "lib/state/fp8_convert.hpp"
#include "lib/state/fp8_policy.hpp"
#include "lib/state/policy_named.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

bool is_own_format(const std::string& path) {
  return path.ends_with(".json") || is_hdf5_name(path);
}

/// "megatron" and "deepspeed fused" name policies; InternEvo has none, and its scaler runs by ColossalAI's.
ConversionTarget target_of(const std::string& framework, const StateSection& given) {
  if (const rule::PolicySpec* spec = policy_named(framework)) {
    return {std::string(spec->name), std::string(spec->variant), given};
  }
  const StateTemplate& form = *templates_of(framework).front();
  return {std::string(form.policy), std::string(form.variant), given};
}

std::string stem_of(const std::string& path) {
  const std::string name(file_name(path));
  return name.substr(0, name.rfind('.'));
}

}  // namespace

NewFilePlan plan_new_file(const ScalerState& source, const std::string& framework, const std::string& path,
                          const StateSection& given) {
  if (find_fp8_policy(framework) != nullptr) {
    if (!is_own_format(path)) {
      throw Error(Status::refused, path + ": FP8 state stands among a model's weights, and is no file of its own",
                  "-o STATE.json or .h5 writes it for tare; `tare fp8 inject` puts such a state into a model");
    }
    NewFilePlan plan{{convert_fp8(source, framework, given), {}}, {}};
    plan.contents = state_file_bytes(plan.migration.conversion.state, path, {});
    return plan;
  }
  if (is_own_format(path)) {
    NewFilePlan plan{{convert(source, target_of(framework, given)), {}}, {}};
    plan.contents = state_file_bytes(plan.migration.conversion.state, path, {});
    return plan;
  }
  const StateTemplate& form = template_for(framework, path);
  TemplateKeeper keeper(form);
  NewFilePlan plan{{convert(source, {std::string(form.policy), std::string(form.variant), given, {}, &keeper}), {}},
                   {}};
  plan.contents = new_container(form.format, filled(form, plan.migration.conversion.state), stem_of(path));
  tell_of_configuration(plan.migration, *form.dialect, keeper, {});
  return plan;
}

}  // namespace tare
