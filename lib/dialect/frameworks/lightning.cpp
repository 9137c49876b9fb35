// Lightning keeps a precision plugin's state under its class's name, which changed from release to release; the newest
// ones still read `native_amp_scaling_state`, and no other name but their own. Source:
// pytorch_lightning/trainer/connectors/{accelerator_connector,checkpoint_connector}.py and plugins/precision/ of
// releases 1.5.10 to 2.6.5. Releases 1.7.0 and 1.7.1 used fairscale's key for torch's FSDP, too.
#include "lib/dialect/frameworks/lightning.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

constexpr std::string_view fsdp = "FSDP", sharded = "fairscale's sharded training",
                           fully_sharded = "fairscale's fully sharded training", apex = "apex.amp";

constexpr std::string_view old_key = "native_amp_scaling_state";

constexpr ReleaseKey lightning(std::string_view with, std::string_view since, std::string_view until,
                               std::string_view key) {
  const bool is_apex = with == apex;
  const bool loads_old_key = with.empty() && !since.empty();
  return {"lightning",
          "Lightning",
          "pytorch-lightning_version",
          is_apex ? &apex_amp_state : &torch_state,
          with,
          since,
          until,
          key,
          loads_old_key ? old_key : std::string_view(),
          is_apex};
}

constexpr auto keys_by_release = std::to_array<ReleaseKey>({
    lightning("", "", "1.5", old_key),
    lightning("", "1.6", "1.8", "NativeMixedPrecisionPlugin"),
    lightning("", "1.9", "2.1.0", "MixedPrecisionPlugin"),
    lightning("", "2.1.1", "", "MixedPrecision"),
    lightning(fsdp, "1.7.2", "1.9", "FullyShardedNativeNativeMixedPrecisionPlugin"),
    lightning(fsdp, "2.0", "2.0", "FSDPMixedPrecisionPlugin"),
    lightning(fsdp, "2.1.0", "2.1.0", "FSDPPrecisionPlugin"),
    lightning(fsdp, "2.1.1", "", "FSDPPrecision"),
    lightning(sharded, "1.6", "1.9", "ShardedNativeMixedPrecisionPlugin"),
    lightning(fully_sharded, "1.6", "1.9", "FullyShardedNativeMixedPrecisionPlugin"),
    lightning(apex, "", "1.5", "amp_scaling_state"),
    lightning(apex, "1.6", "1.9", "ApexMixedPrecisionPlugin"),
});

bool has_release_key(const Tree&, const std::deque<FoundScaler>& scalers) {
  return std::ranges::any_of(scalers, [](const FoundScaler& one) { return release_key_of(one) != nullptr; });
}

constexpr auto of_lightning = std::to_array<Condition>({{.keys = "pytorch-lightning_version"}, {.keys = "state_dict"}});
constexpr auto with_apex = std::to_array<Condition>({{.keys = "ApexMixedPrecisionPlugin"}});
constexpr auto with_old_apex = std::to_array<Condition>({{.keys = "amp_scaling_state"}});
constexpr std::string_view fails_with_apex =
    "with apex cannot resume: it loads the state before amp.initialize() has made a scaler, which fails";
constexpr std::string_view instead_of_apex = "torch's AMP (amp_backend='native') resumes, with a scaler of its own";

constexpr auto marks = std::to_array<std::string_view>({"pytorch-lightning_version", "state_dict"});
constexpr auto resumes = std::to_array<Resume>({
    {.since = "1.6",
     .stored = Resume::Stored::yes,
     .needs = of_lightning,
     .is_about = has_release_key,
     .what = "keeps it under a key that other releases do not look for: those say nothing and start anew at 65536",
     .helps = "tare migrate --rename lightning:VERSION",
     .source = "pytorch_lightning/trainer/connectors/checkpoint_connector.py, restore_precision_plugin_state",
     .was_run = true},
    {.until = "1.5",
     .needs = with_old_apex,
     .what = fails_with_apex,
     .helps = instead_of_apex,
     .source = "Lightning-AI/pytorch-lightning#11488",
     .why_read = "PyPI has no apex that works"},
    {.since = "1.6",
     .until = "1.7",
     .needs = with_apex,
     .what = fails_with_apex,
     .helps = instead_of_apex,
     .source = "Lightning-AI/pytorch-lightning#11488",
     .why_read = "PyPI has no apex that works"},
    {.since = "1.8",
     .until = "1.9",
     .needs = with_apex,
     .what = "with apex cannot resume: the first step says \"Resuming training with APEX is currently not supported\"",
     .helps = instead_of_apex,
     .source = "Lightning-AI/pytorch-lightning#14341",
     .was_run = true},
});

/// What SLURM's signal left comes before all else: trainer/connectors/checkpoint_connector.py, _hpc_resume_path.
constexpr auto runs = std::to_array<RunFolder>({
    {RunFolder::Takes::highest, "hpc_ckpt_#.ckpt", "*.ckpt", {}, FileType::file},
});

bool is_lightning(const std::string& name) {
  return name.ends_with(".ckpt") && (number_behind(name, "epoch=") || number_behind(name, "step="));
}

/// As ModelCheckpoint(save_last=True) names it, too: `last-v1.ckpt`, and by a CHECKPOINT_NAME_LAST of the user's.
bool is_last_of_lightning(const std::string& name) {
  return name == "last.ckpt" || is_named("last-v#.ckpt", name) || (name.starts_with("last") && is_lightning(name));
}

/// `epoch=1-step=20.ckpt`, with or without a `last.ckpt`. Source: pytorch_lightning/callbacks/model_checkpoint.py,
/// _find_last_checkpoints, and trainer/connectors/checkpoint_connector.py, _parse_ckpt_path (2.5).
std::optional<Saves> last_of_lightning(const std::vector<std::string>& names) {
  std::vector<std::string> lasts, others;
  std::ranges::partition_copy(names, std::back_inserter(lasts), std::back_inserter(others), is_last_of_lightning);
  if (names.size() < 2 || !std::ranges::all_of(others, is_lightning)) return std::nullopt;
  if (!lasts.empty()) return Saves{lasts.front(), names.size(), "what Lightning's ckpt_path=\"last\" loads", lasts};
  for (const std::string_view key : {"step=", "epoch="}) {
    if (const auto name = highest_save(others, key)) return Saves{*name, names.size(), "the highest"};
  }
  return std::nullopt;
}

}  // namespace

std::span<const ReleaseKey> lightning_keys() {
  return keys_by_release;
}

constinit const Trainer lightning_trainer = {
    .name = "Lightning",
    .runs = runs,
    .choose_save = last_of_lightning,
    .marks = marks,
    .version_at = "pytorch-lightning_version",
    .resumes = resumes,
};

}  // namespace tare
