#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "lib/base/error.hpp"
#include "lib/base/naming.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/checkpoint/plain_states.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/dialect/state_template.hpp"
#include "lib/migrate/fp8_into.hpp"
#include "lib/migrate/migrate.hpp"
#include "lib/state/fp8_policy.hpp"
#include "lib/state/policy_named.hpp"

namespace tare {
namespace {

/// tare's own files are told by their content: a checkpoint may be JSON or HDF5 too.
std::optional<std::vector<NamedState>> own_states(const std::string& path) {
  if (local_files().type(path) != FileType::file) return std::nullopt;
  try {
    return read_states_file(path);
  } catch (const Error& error) {
    if (error.status == Status::corrupt || error.status == Status::io) return std::nullopt;
    throw;
  }
}

bool is_fp8(const Scaler& scaler) {
  return scaler.state().dialect->kind == "fp8";
}

/// Whether FP8 state is meant by a choice that names no framework: `scalers` and `fp8` are how many of them are there.
bool means_fp8(const SourceChoice& choice, std::size_t scalers, std::size_t fp8) {
  if (choice.framework) return find_fp8_policy(*choice.framework) != nullptr;
  return choice.fp8 || (scalers == 0 && fp8 > 0);
}

/// What keeps a scaler of torch's as it is, in a file of its own or inside of a checkpoint.
constexpr auto keepers_of_torch = std::to_array<std::string_view>(
    {"pytorch", "transformers", "huggingface", "accelerate", "lightning", "fsdp", "timm", "mmengine", "ultralytics"});

/// Frameworks by the names that states migrate to.
void require_framework(const std::string& name) {
  if (find_fp8_policy(name) != nullptr || policy_named(name) != nullptr) return;
  const auto is_it = [&](const Dialect* dialect) { return dialect->name == name && dialect->kind == "loss_scale"; };
  const std::set<std::string_view> known = template_names();
  if (known.contains(name) || std::ranges::any_of(dialects(), is_it)) return;
  if (std::ranges::find(keepers_of_torch, name) != keepers_of_torch.end()) {
    throw Error(Status::invalid_argument, fmt::format("'{}' is no framework that a state could migrate to", name),
                "what it keeps is torch's: --to torch writes that state, --into puts it into a checkpoint");
  }
  std::vector<std::string_view> fp8;
  for (const Fp8PolicySpec& spec : fp8_policies()) {
    if (spec.rule != kernels::fp8::Rule::fp8_lm) fp8.push_back(spec.name);  // its mu is no tensor's scale
  }
  throw Error(
      Status::invalid_argument, fmt::format("'{}' is no framework that a state could migrate to", name),
      fmt::format("loss scalers migrate to: {}; FP8 state to: {}", fmt::join(known, ", "), fmt::join(fp8, ", ")));
}

/// What a source of the other kind is told, which has no state of the kind that is meant.
[[noreturn]] void refuse_kind(const std::string& path, bool wants_fp8) {
  if (wants_fp8) {
    throw Error(Status::refused, path + ": there is a loss scaler in it, and no FP8 state",
                "a loss scaler migrates to torch, megatron ...");
  }
  throw Error(Status::refused, path + ": there is FP8 state in it, and no loss scaler",
              "FP8 state migrates to a policy of FP8: --to transformer_engine, flax_fp8 ...; --into with --fp8");
}

/// Of a file of several scalers nothing, nor where a place is given: it is chosen as of any checkpoint.
std::optional<LoadedState> own_state_of(const std::string& path, const SourceChoice& choice) {
  const auto states = own_states(path);
  if (!states) return std::nullopt;
  const auto fp8 = static_cast<std::size_t>(std::ranges::count_if(
      *states, [](const NamedState& named) { return find_fp8_policy(named.state.policy) != nullptr; }));
  const bool wants_fp8 = means_fp8(choice, states->size() - fp8, fp8);
  if (wants_fp8 ? fp8 == 0 : fp8 == states->size()) refuse_kind(path, wants_fp8);
  if (choice.at) return std::nullopt;
  if (wants_fp8) return read_fp8_state_file(path);
  return states->size() == 1 ? std::optional(read_state_file(path)) : std::nullopt;
}

}  // namespace

LoadedState migration_source(const std::string& path, const SourceChoice& choice, const OpenSource& open) {
  if (choice.framework) require_framework(*choice.framework);
  if (auto state = own_state_of(path, choice)) return *std::move(state);
  const Checkpoint checkpoint = open(path);
  const auto fp8 = static_cast<std::size_t>(std::ranges::count_if(checkpoint.scalers, is_fp8));
  const std::size_t scalers = checkpoint.scalers.size() - fp8;
  const bool wants_fp8 = means_fp8(choice, scalers, fp8);
  if (fp8 + scalers > 0 && (wants_fp8 ? fp8 : scalers) == 0) refuse_kind(checkpoint.resolved, wants_fp8);
  if (wants_fp8) {
    return {fp8_state_in(checkpoint, choice.at, "--at"), lost_in_plain_states(checkpoint, choice.at)};
  }
  const FoundScaler& found = chosen_scalers(checkpoint, {.at = choice.at, .ways = "--at PLACE"}).front()->state();
  LoadedState loaded = naming(checkpoint.resolved, [&]() -> LoadedState { return {to_state(found)}; });
  if (auto otherwise = grows_otherwise(found)) {
    loaded.findings.push_back(
        {Severity::warning, "grows-otherwise", *std::move(otherwise), checkpoint.resolved, found.path});
  }
  return loaded;
}

}  // namespace tare
