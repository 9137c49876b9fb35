// Megatron-LM: DynamicGradScaler's dict of three (a float32 CUDA tensor and two counters; the constant scaler saves
// {}), and the pickled loss scaler of releases before 2.0.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/file_path.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "lib/dialect/run_pointer.hpp"

namespace tare {
namespace {

constexpr auto megatron_state_fields = std::to_array<FieldRule>({
    {"hysteresis_tracker", Role::hysteresis_tracker, true},
    {"scale", Role::scale, true},
    {"growth_tracker", Role::growth_tracker, true},
});

constexpr auto megatron_settings = std::to_array<Setting>({
    {Role::growth_interval, "Megatron takes its window from --loss-scale-window."},
    {Role::hysteresis, "Megatron takes it from --hysteresis."},
    {Role::min_scale, "Megatron takes it from --min-loss-scale."},
    {Role::max_scale, "Megatron has no upper bound."},
    {Role::initial_scale, "Megatron takes it from --initial-loss-scale; a loaded checkpoint's scale replaces it."},
    {Role::growth_factor, "Megatron always grows by 2: the factor is fixed in its code."},
    {Role::backoff_factor, "Megatron always backs off by 0.5: the factor is fixed in its code."},
    {Role::dynamic, "Megatron's scale is dynamic unless --loss-scale fixes it; a fixed one is not saved."},
    {Role::overflow_tracker, "Megatron counts down instead: edit hysteresis_tracker."},
});

constexpr auto megatron_object_fields = std::to_array<FieldRule>({
    {"cur_scale", Role::scale, true},
    {"cur_iter", Role::step},
    {"last_overflow_iter", Role::last_overflow_step},
    {"scale_factor", Role::growth_factor},
    {"scale_window", Role::growth_interval},
    {"min_scale", Role::min_scale},
    {"delayed_shift", Role::hysteresis},
    {"cur_hysteresis", Role::hysteresis_tracker},
});

constexpr auto megatron_module_parts = std::to_array<std::string_view>({"megatron", "fp16"});
constexpr auto megatron_class_names = std::to_array<std::string_view>({"DynamicLossScaler", "LossScaler"});

constexpr auto megatron_object_settings = std::to_array<Setting>({
    {Role::growth_tracker, "This Megatron counts from last_overflow_step: edit that, or step."},
    {Role::backoff_factor, "This Megatron divides by scale_factor, which is growth_factor here."},
    {Role::max_scale, "Megatron has no upper bound."},
    {Role::initial_scale, "Megatron takes it from --initial-loss-scale; a loaded checkpoint's scale replaces it."},
    {Role::dynamic, "Megatron's scale is dynamic unless --loss-scale fixes it."},
    {Role::overflow_tracker, "Megatron counts down instead: edit hysteresis_tracker."},
});

constexpr auto megatron_policies = std::to_array<PolicyUse>({
    {"", "megatron"},
});
constexpr auto megatron_each_flag = std::to_array<Flag>({
    {Role::growth_interval, "--loss-scale-window "},
    {Role::hysteresis, "--hysteresis "},
    {Role::min_scale, "--min-loss-scale "},
});
constexpr Flags megatron_flags{"", " ", "", megatron_each_flag};
// Source: generate_state_dict of megatron/training/checkpointing.py.
constexpr auto megatron_around = std::to_array<std::string_view>({"args", "common_state/shard_0_1.args"});
constexpr auto megatron_configuration_keys = std::to_array<ConfigurationKey>({
    {"initial_loss_scale", "initial_scale"},
    {"min_loss_scale", "min_scale"},
    {"loss_scale_window", "growth_interval"},
    {"hysteresis", "hysteresis"},
});
constexpr ConfigurationPlaces megatron_configuration{.around = megatron_around, .keys = megatron_configuration_keys};
constexpr auto megatron_places = std::to_array<KeptAt>({
    {"common_state/*", "", "", "Megatron-core, distributed format, common state"},
    {"optimizer.distributed.dp_group_idx_*", "", "", "Megatron-core, distributed format, one data-parallel group",
     Authority::rank_group},
    {"chained_*", "", "", "Megatron-core, distributed format, one data-parallel group of one optimizer",
     Authority::rank_group},
    {"", "shard_*", "", "Megatron-core, distributed format (zarr), one data-parallel group", Authority::rank_group},
    {"*", "model_optim_rng.pt", "", "Megatron-LM, torch format", Authority::own_rank},
    {"*", "common.pt", "", "Megatron-core, distributed format, common state"},
});
constexpr auto megatron_object_places = std::to_array<KeptAt>({
    {"*", "", "", "Megatron-LM before 2.0"},
});
// Source: state_dict() of a scaler that is off, megatron/core/optimizer/grad_scaler.py.
constexpr std::string_view megatron_read_by =
    "Megatron loads a scaler in runs with --fp16 and without --loss-scale: with --loss-scale the scale stays what that "
    "says, with --bf16 there is none, and the state is passed over";
constexpr auto megatron_empty_at = std::to_array<EmptyAt>({
    {"optimizer.grad_scaler", "model_optim_rng.pt", true, megatron_read_by},
    {"optimizer.grad_scaler", "common.pt", true, megatron_read_by},
});

// ---- what a resume says. Source: load_state_dict of megatron/core/optimizer/optimizer.py and distrib_optimizer.py;
// which scaler there is: megatron/core/optimizer/__init__.py.

/// Items that hold what common.pt holds elsewhere.
constexpr std::string_view common_items = "common_state/";

constexpr std::string_view megatron_says_missing =
    "***WARNING*** found an old checkpoint, will not load grad scaler ...";
constexpr std::string_view megatron_says_skipped =
    "***WARNING*** fould the grad scaler in the checkpoint but it is None in the class. Skipping loading grad scaler "
    "...";
constexpr std::string_view megatron_says_old = "***WARNING*** loading optimizer from an old checkpoint ...";

/// What the run was told, as far as its checkpoint says.
struct Arguments {
  std::optional<bool> fp16, bf16;
  std::optional<double> loss_scale;  ///< other than 0
  double initial = 4294967296.0;
  double hysteresis = 2;

  [[nodiscard]] bool may_be_fp16() const { return fp16.value_or(true) && !bf16.value_or(false); }
  [[nodiscard]] bool may_be_dynamic() const { return may_be_fp16() && !loss_scale; }
  [[nodiscard]] bool is_dynamic() const { return fp16.value_or(false) && !loss_scale; }
  [[nodiscard]] bool has_none() const { return bf16.value_or(false) && !loss_scale; }
};

std::optional<double> number_at(const Tree& tree, NodeId map, std::string_view key) {
  const NodeId node = tree.find(map, key);
  if (node == nowhere) return std::nullopt;
  const Value value = tree.value(node, 1);
  return value.number() == nullptr ? std::nullopt : std::optional(value.as_double());
}

Arguments arguments_in(const Tree& tree, NodeId root) {
  Arguments arguments;
  const NodeId args = tree.find(root, "args");
  const NodeId map = args == nowhere ? nowhere : tree.fields(args);
  if (map == nowhere) return arguments;
  const auto flag = [&](std::string_view key) {
    const auto number = number_at(tree, map, key);
    return number ? std::optional(*number != 0) : std::nullopt;
  };
  arguments.fp16 = flag("fp16");
  arguments.bf16 = flag("bf16");
  arguments.loss_scale = number_at(tree, map, "loss_scale");
  if (arguments.loss_scale == 0.0) arguments.loss_scale.reset();
  arguments.initial = number_at(tree, map, "initial_loss_scale").value_or(arguments.initial);
  arguments.hysteresis = number_at(tree, map, "hysteresis").value_or(arguments.hysteresis);
  return arguments;
}

std::string scale_text(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5 ? fmt::format("2^{}", exponent - 1) : float_text(scale);
}

/// "anew at 2^32: 17 skipped steps to 2^16": the first overflows use the hysteresis up, each later one halves.
std::string start_anew(const Arguments& arguments) {
  constexpr double usual_end = 65536;
  const double halvings = std::ceil(std::log2(arguments.initial / usual_end));
  std::string text = fmt::format("anew at {}", scale_text(arguments.initial));
  if (halvings > 0) text += fmt::format(": {:.0f} skipped steps to 2^16", halvings + arguments.hysteresis - 1);
  return text;
}

std::string who(bool is_known) {
  return is_known ? "this run" : "a run with --fp16 and without --loss-scale";
}

Finding missing(const Arguments& arguments, const std::string& path) {
  if (arguments.loss_scale) {
    return {Severity::note, "grad-scaler-missing",
            fmt::format("no grad_scaler is saved: this run says \"{}\" and goes on at its --loss-scale {}",
                        megatron_says_missing, float_text(*arguments.loss_scale)),
            "", path};
  }
  const bool is_known = arguments.is_dynamic();
  return {is_known ? Severity::warning : Severity::note, "grad-scaler-missing",
          fmt::format("no grad_scaler is saved: {} says \"{}\" and starts {}", who(is_known), megatron_says_missing,
                      start_anew(arguments)),
          "", path};
}

Finding empty(const Arguments& arguments, const std::string& path) {
  std::string message = "grad_scaler is {}, as a constant scaler saves it: ";
  if (arguments.loss_scale) {
    message +=
        fmt::format("this run goes on at its --loss-scale {}, and loads nothing", float_text(*arguments.loss_scale));
  } else if (arguments.has_none()) {
    message += fmt::format("this run says \"{}\"", megatron_says_skipped);
  } else {
    message += fmt::format(
        "with --loss-scale a run goes on at that, with --bf16 it says \"{}\", and with --fp16 alone it "
        "ends in KeyError: 'scale'",
        megatron_says_skipped);
  }
  return {arguments.is_dynamic() ? Severity::warning : Severity::note, "grad-scaler-empty", std::move(message), "",
          path + ".grad_scaler"};
}

/// Of a scaler that is there and a run that has none, or a constant one.
std::optional<Finding> skipped(const Arguments& arguments, const std::string& path) {
  if (arguments.may_be_dynamic()) return std::nullopt;
  const std::string why = arguments.loss_scale
                              ? fmt::format("stays at its --loss-scale {}", float_text(*arguments.loss_scale))
                              : fmt::format("says \"{}\"", megatron_says_skipped);
  return Finding{Severity::warning, "grad-scaler-skipped",
                 fmt::format("this run does not load the scaler that is saved: it {}", why), "", path + ".grad_scaler"};
}

bool is_empty_map(const Tree& tree, NodeId node) {
  return tree.kind(node) == Kind::map && tree.items(node).empty();
}

struct Optimizer {
  NodeId map;
  std::string path;
};

constexpr std::size_t most_chained = 64;

/// One, or those of a chain: a list in the torch format, numbers in the distributed one. Source: state_dict and
/// sharded_state_dict of ChainedOptimizer, megatron/core/optimizer/optimizer.py.
std::vector<Optimizer> optimizers_in(const Tree& tree, NodeId root) {
  const NodeId found = root == nowhere ? nowhere : tree.find(root, "optimizer");
  if (found == nowhere) return {};
  const auto megatron_items = tree.items(found);
  std::vector<Optimizer> all;
  if (tree.kind(found) == Kind::list) {
    for (std::size_t i = 0; i < std::min(megatron_items.size(), most_chained); ++i) {
      all.push_back({megatron_items[i], fmt::format("optimizer[{}]", i)});
    }
  } else if (tree.kind(found) == Kind::map && !megatron_items.empty() &&
             tree.kind(megatron_items[0]) == Kind::integer) {
    for (std::size_t i = 0; i + 1 < std::min(megatron_items.size(), 2 * most_chained); i += 2) {
      all.push_back({megatron_items[i + 1], fmt::format("optimizer.{}", tree.key_text(megatron_items[i]))});
    }
  } else {
    all.push_back({found, "optimizer"});
  }
  std::erase_if(all,
                [&](const Optimizer& one) { return tree.kind(one.map) != Kind::map || tree.items(one.map).empty(); });
  return all;
}

void tell_loading(const Tree& tree, NodeId root, const Optimizer& optimizer, std::vector<Finding>& findings) {
  const Arguments arguments = arguments_in(tree, root);
  const NodeId scaler = tree.find(optimizer.map, "grad_scaler");
  if (scaler == nowhere) {
    const bool is_megatrons = tree.find(root, "args") != nowhere || tree.find(root, "checkpoint_version") != nowhere;
    if (is_megatrons && arguments.may_be_fp16()) findings.push_back(missing(arguments, optimizer.path));
  } else if (is_empty_map(tree, scaler)) {
    findings.push_back(empty(arguments, optimizer.path));
  } else if (auto told = skipped(arguments, optimizer.path)) {
    findings.push_back(*std::move(told));
  }
  if (tree.find(optimizer.map, "optimizer") == nowhere && tree.find(optimizer.map, "optimizer_state_dict") != nowhere) {
    findings.push_back({Severity::note, "optimizer-under-old-key",
                        fmt::format("the optimizer is under an old key: a resume says \"{}\"", megatron_says_old), "",
                        optimizer.path});
  }
}

/// What all ranks load: the whole of a file, or, where there is no common.pt, an item of its own, a list of one.
struct CommonState {
  NodeId map;
  std::string path;  ///< with a dot behind it; empty: the root
};

/// The distributed optimizer's scalers are items of their own, one for each data-parallel group.
bool keeps_scalers_by_group(const Tree& tree, NodeId root) {
  const NodeId optimizer = tree.find(root, "optimizer");
  return optimizer != nowhere && tree.kind(optimizer) == Kind::map && tree.find(optimizer, "distributed") != nowhere;
}

std::vector<CommonState> common_states(const Tree& tree, std::string_view file) {
  const std::string_view name = file_name(file);
  const NodeId root = tree.fields(tree.root);
  if (name == "model_optim_rng.pt" || name == "common.pt") return {{root, {}}};
  if (!name.ends_with(".metadata") || root == nowhere || tree.kind(root) != Kind::map) return {};
  if (keeps_scalers_by_group(tree, root)) return {};
  std::vector<CommonState> states;
  const auto megatron_pairs = tree.items(root);
  for (std::size_t i = 0; i + 1 < megatron_pairs.size(); i += 2) {
    const std::string key = tree.key_text(megatron_pairs[i]);
    if (!key.starts_with(common_items) || tree.kind(megatron_pairs[i + 1]) != Kind::list) continue;
    const auto values = tree.items(megatron_pairs[i + 1]);
    if (values.size() == 1) states.push_back({tree.fields(values[0]), key + "[0]."});
  }
  return states;
}

std::vector<Finding> tell_loading(const Tree& tree, std::string_view file) {
  std::vector<Finding> findings;
  for (const CommonState& state : common_states(tree, file)) {
    for (Optimizer& optimizer : optimizers_in(tree, state.map)) {
      optimizer.path.insert(0, state.path);
      tell_loading(tree, state.map, optimizer, findings);
    }
  }
  return findings;
}

constexpr auto megatron_template_fields = std::to_array<TemplateField>({
    {"scale", "tensor:float32[1]"},
    {"growth_tracker", "int"},
    {"hysteresis_tracker", "int"},
});
constexpr auto megatron_templates = std::to_array<StateTemplate>({
    {.name = "megatron",
     .dialect = &megatron_state,
     .policy = "megatron",
     .endings = ".pt .pth .ckpt .bin",
     .format = "torch_zip",
     .fields = megatron_template_fields,
     .path = "optimizer.grad_scaler"},
});
/// ChainedOptimizer: one for dense layers, one for experts.
constexpr auto before_chain_number = std::to_array<std::string_view>({"optimizer[", "optimizer.", "chained_"});
constexpr auto megatron_classes = std::to_array<ClassName>({
    {"megatron.core.dist_checkpointing.mapping", "LocalNonpersistentObject"},
    {"megatron.core.dist_checkpointing.mapping", "ShardedObject"},
    {"megatron.core.dist_checkpointing.mapping", "ShardedTensor"},
    {"megatron.core.enums", "ModelType"},
    {"megatron.core.num_microbatches_calculator", "ConstantNumMicroBatchesCalculator"},
    {"megatron.core.num_microbatches_calculator", "RampupBatchsizeNumMicroBatchesCalculator"},
    {"megatron.core.rerun_state_machine", "RerunDiagnostic"},
    {"megatron.core.rerun_state_machine", "RerunMode"},
    {"megatron.core.rerun_state_machine", "RerunState"},
    {"megatron.core.safe_globals", "safe_load_from_bytes"},
    {"megatron.core.transformer.enums", "AttnBackend"},
    {"megatron.core.transformer.enums", "AttnMaskType"},
    {"megatron.core.transformer.enums", "AttnType"},
    {"megatron.core.transformer.enums", "LayerType"},
    {"megatron.core.transformer.enums", "ModelType"},
    {"megatron.core.transformer.pipeline_parallel_layer_layout", "PipelineParallelLayerLayout"},
});

/// apex's and TransformerEngine's Adam count in the group; the count is there from the first step on that is not
/// skipped.
constexpr auto before_first_step = std::to_array<Condition>({
    {.keys = "args.use_distributed_optimizer"},
    {.keys = "optimizer.grad_scaler"},
    {.keys = "optimizer.optimizer.param_groups.0"},
    {.keys = "optimizer.optimizer.param_groups.0.step", .is = Condition::Is::absent},
});
constexpr auto megatron_resumes = std::to_array<Resume>({
    {.needs = before_first_step,
     .what =
         "saved this before any step was taken (the scaler still searches: all were skipped), where its distributed "
         "optimizer has no state to save, and what saves it may fail",
     .helps = "a lower --initial-loss-scale, or a first save after the first step that is taken",
     .source = "NVIDIA/Megatron-LM#602",
     .was_run = true},
});

std::optional<std::string> megatron_iteration(std::string_view text) {
  if (text == "release") return "release";
  const auto iteration = iteration_number(text);
  return iteration ? std::optional(fmt::format("iter_{:07}", *iteration)) : std::nullopt;
}

constexpr auto megatron_pointers = std::to_array<RunPointer>({
    {"latest_checkpointed_iteration.txt", megatron_iteration},
});
constexpr auto megatron_runs = std::to_array<RunFolder>({
    {RunFolder::Takes::pointed, "iter_#", {}, {}, FileType::folder},
});

// Source: megatron/training/checkpointing.py, get_checkpoint_name; the arguments are saved.
constexpr auto megatron_sizes = std::to_array<StoredSize>({
    {&RankSizes::model, "args.tensor_model_parallel_size"},
    {&RankSizes::pipeline, "args.pipeline_model_parallel_size"},
    {&RankSizes::expert, "args.expert_model_parallel_size"},
});
constexpr auto megatron_rank_files = std::to_array<RankFiles>({
    {"mp_rank*/", {&RankSizes::model, &RankSizes::pipeline, &RankSizes::expert}},
});
constexpr auto megatron_pairs = std::to_array<FilePair>({
    {"distrib_optim.pt", "model_optim_rng.pt", "where Megatron keeps its grad scaler"},
});

// megatron/core/dist_checkpointing: serialization.py takes the common state from common.pt where there is one, else
// from the items; beside a common.pt the ranks' random states alone tell.
constexpr auto megatron_items = std::to_array<std::string_view>({common_items, "rng_state/"});
constexpr auto other_items = std::to_array<std::string_view>({"rng_state/", "rerun_state_machine_state/"});
constexpr DistributedFolder megatron_distributed{.items = megatron_items,
                                                 .other_items = other_items,
                                                 .note = "metadata.json",
                                                 .common_key = "common_backend",
                                                 .common_file = "common.pt",
                                                 .common_items = common_items,
                                                 .group_word = "dp_group_idx_"};

}  // namespace

constinit const Dialect megatron_state = {
    .name = "megatron",
    .framework = "Megatron's DynamicGradScaler",
    .form = Form::map,
    .fields = megatron_state_fields,
    .growth = Growth::when_equal,
    .before_chain_number = before_chain_number,
    .settings = megatron_settings,
    .grows_by_two = true,
    .tell_loading = tell_loading,
    .policies = megatron_policies,
    .flags = megatron_flags,
    .configuration = &megatron_configuration,
    .places = megatron_places,
    .empty_at = megatron_empty_at,
    .templates = megatron_templates,
    .classes = megatron_classes,
};

constinit const Dialect megatron_object = {
    .name = "megatron",
    .framework = "Megatron's loss scaler (before 2.0)",
    .form = Form::object,
    .fields = megatron_object_fields,
    .growth = Growth::modulo,
    .settings = megatron_object_settings,
    .module_parts = megatron_module_parts,
    .class_names = megatron_class_names,
    .policies = megatron_policies,
    .flags = megatron_flags,
    .configuration = &megatron_configuration,
    .places = megatron_object_places,
};

constinit const Trainer megatron_trainer = {
    .name = "Megatron",
    .rank_files = megatron_rank_files,
    .sizes = megatron_sizes,
    .pairs = megatron_pairs,
    .pointers = megatron_pointers,
    .runs = megatron_runs,
    .distributed = megatron_distributed,
    .resumes = megatron_resumes,
};

}  // namespace tare
