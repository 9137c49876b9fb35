#include "lib/dialect/blank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "lib/base/error.hpp"
#include "lib/dialect/shapes.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

constexpr auto torch = std::to_array<BlankField>({
    {"scale", "float"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"growth_interval", "int"},
    {"_growth_tracker", "int"},
});
constexpr auto nemo = std::to_array<BlankField>({
    {"scale", "float"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"growth_interval", "int"},
    {"_growth_tracker", "int", "growth_tracker"},
    {"_hysteresis_tracker", "int", "hysteresis_tracker"},
});
constexpr auto megatron = std::to_array<BlankField>({
    {"scale", "tensor:float32[1]"},
    {"growth_tracker", "int"},
    {"hysteresis_tracker", "int"},
});
constexpr auto apex = std::to_array<BlankField>({{"loss_scale", "float"}, {"unskipped", "int"}});
constexpr auto wrapper = std::to_array<BlankField>({
    {"dynamic_loss_scale", "bool"},
    {"cur_scale", "number"},
    {"cur_iter", "int"},
    {"last_overflow_iter", "int"},
    {"scale_factor", "number"},
    {"scale_window", "int"},
});
constexpr auto zero = std::to_array<BlankField>({
    {"cur_scale", "number"},
    {"dynamic", "true"},
    {"cur_iter", "int"},
    {"last_overflow_iter", "int"},
    {"scale_factor", "number"},
    {"scale_window", "int"},
    {"min_scale", "number"},
    {"delayed_shift", "int"},
    {"cur_hysteresis", "int"},
    {"consecutive_hysteresis", "bool"},
    {"raise_error_at_min_scale", "bool"},
    {"dtype", "torch.float16"},
});
constexpr auto fairseq = std::to_array<BlankField>({{"loss_scale", "float"}});
constexpr auto colossalai = std::to_array<BlankField>({
    {"scale", "tensor:float32[1]"},
    {"growth_factor", "float"},
    {"backoff_factor", "float"},
    {"hysteresis", "int"},
});
constexpr auto paddle = std::to_array<BlankField>({
    {"scale", "numpy:float32[1]"},
    {"incr_ratio", "float"},
    {"decr_ratio", "float"},
    {"incr_every_n_steps", "int"},
    {"decr_every_n_nan_or_inf", "int"},
    {"incr_count", "int"},
    {"decr_count", "int"},
    {"use_dynamic_loss_scaling", "bool"},
});
constexpr auto paddle_static = std::to_array<BlankField>({
    {"loss_scaling_0", "numpy:float32[1]", "loss_scaling"},
    {"num_good_steps_0", "numpy:int32[1]", "num_good_steps"},
    {"num_bad_steps_0", "numpy:int32[1]", "num_bad_steps"},
});
constexpr auto mindspore = std::to_array<BlankField>({
    {"scale_sense", "tensor:float32[]"},
    {"current_iterator_step", "tensor:int32[]"},
    {"last_overflow_iterator_step", "tensor:int32[]"},
});
constexpr auto mindspore_amp = std::to_array<BlankField>({
    {"scale_value", "tensor:float32[]"},
    {"counter", "tensor:int32[]"},
});
constexpr auto mindformers_adaptive = std::to_array<BlankField>({
    {"scale_sense", "tensor:float32[]"},
    {"scale_window", "tensor:int32[]", "fields.scale_window"},
    {"list_index", "tensor:int32[]"},
    {"scale_window_up_count", "tensor:int32[]"},
    {"scale_window_down_count", "tensor:int32[]"},
    {"current_iterator_step", "tensor:int32[]"},
    {"last_overflow_iterator_step", "tensor:int32[]"},
});

constexpr auto flax = std::to_array<BlankField>({{"fin_steps", "int"}, {"scale", "float"}});
constexpr auto jmp = std::to_array<BlankField>({{"loss_scale", "numpy:float32[]"}, {"counter", "numpy:int32[]"}});

constexpr std::string_view torch_endings = ".pt .pth .ckpt .bin";
constexpr auto table = std::to_array<Blank>({
    {"torch", &torch_state, "torch", "", torch_endings, "torch_zip", "", "", "", torch},
    {"nemo", &nemo_state, "nemo", "", torch_endings, "torch_zip", "", "", "", nemo},
    {"megatron", &megatron_state, "megatron", "", torch_endings, "torch_zip", "optimizer.grad_scaler", "", "",
     megatron},
    {"apex", &apex_amp_state, "apex", "", torch_endings, "torch_zip", "loss_scaler0", "", "", apex},
    {"deepspeed zero", &deepspeed_object, "deepspeed", "zero", torch_endings, "torch_zip",
     "optimizer_state_dict.loss_scaler", "deepspeed.runtime.fp16.loss_scaler", "DynamicLossScaler", zero},
    {"deepspeed fused", &deepspeed_part, "deepspeed", "fused", torch_endings, "torch_zip", "optimizer", "", "", wrapper,
     "ds_version"},
    {"deepspeed unfused", &deepspeed_part, "deepspeed", "unfused", torch_endings, "torch_zip", "optimizer", "", "",
     wrapper, "ds_version"},
    {"fairseq", &fairseq_part, "fairseq", "", torch_endings, "torch_zip", "last_optimizer_state", "", "", fairseq},
    {"colossalai", &colossalai_state, "colossalai", "", torch_endings, "torch_zip", "", "", "", colossalai},
    {"paddle", &paddle_state, "paddle", "", ".pdparams .pdopt .pd", "pickle", "", "", "", paddle},
    {"paddle_static", &paddle_static_variables, "paddle_static", "", ".pdparams .pdopt", "pickle", "", "", "",
     paddle_static},
    {"mindspore", &mindspore_cell, "mindspore", "dynamic", ".ckpt", "mindspore", "", "", "", mindspore},
    {"mindspore_amp", &mindspore_amp_scaler, "mindspore_amp", "", ".ckpt", "mindspore", "", "", "", mindspore_amp},
    {"mindformers_adaptive", &mindformers_adaptive_cell, "mindformers_adaptive", "", ".ckpt", "mindspore", "", "", "",
     mindformers_adaptive},
    {"flax", &flax_state, "flax", "", ".msgpack", "msgpack", "dynamic_scale", "", "", flax},
    {"jmp", &jmp_state, "jmp", "", ".npz", "npz", "loss_scale", "", "", jmp},
    {"jmp", &jmp_state, "jmp", "", ".msgpack", "msgpack", "loss_scale", "", "", jmp},
});

/// Frameworks that only ever save a scaler with everything else.
struct Homeless {
  std::string_view name;
  std::string_view why;
};
constexpr auto homeless = std::to_array<Homeless>({
    {"keras", "Keras saves a scaler with the whole optimizer, and loads neither if their variables do not match"},
    {"tf_keras", "TensorFlow saves a scaler in the checkpoint of a whole optimizer, with its object graph"},
    {"tf_contrib", "TensorFlow saves a scaler among the variables of a whole graph"},
});

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != words.npos && !word.empty(); at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

std::string_view ending_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == path.npos || path.find('/', dot) != path.npos ? std::string_view() : path.substr(dot);
}

/// "float32" and {1} of "tensor:float32[1]".
DocumentTensor tensor_of(std::string_view type, double number) {
  const std::size_t colon = type.find(':');
  const std::size_t bracket = type.find('[');
  DocumentTensor tensor;
  tensor.type = element_type(type.substr(colon + 1, bracket - colon - 1));
  if (type.substr(bracket) != "[]") tensor.shape = {1};
  tensor.elements = element_bytes(tensor.type, number, std::endian::little);
  return tensor;
}

Document value_as(std::string_view type, const StateValue* value, std::string_view key) {
  if (type == "true") return {true};
  if (type.starts_with("torch.")) return {DocumentName{"torch", std::string(type.substr(6))}};
  if (value == nullptr || std::holds_alternative<std::monostate>(*value)) return {};
  if (type == "int") return {integer_of(*value, key)};
  if (type == "float") return {number_of(*value, key)};
  if (type == "bool") return {number_of(*value, key) != 0};
  if (type == "number") {
    const auto* whole = std::get_if<std::int64_t>(value);
    return whole != nullptr ? Document{*whole} : Document{number_of(*value, key)};
  }
  return {tensor_of(type, number_of(*value, key))};
}

/// Maps around `inner`, one for each key of a dotted path.
Document at_path(std::string_view path, Document inner) {
  while (!path.empty()) {
    const std::size_t dot = path.rfind('.');
    const std::size_t begin = dot == path.npos ? 0 : dot + 1;
    DocumentMap map;
    map.push_back({std::string(path.substr(begin)), std::move(inner)});
    inner = {std::move(map)};
    path = dot == path.npos ? std::string_view() : path.substr(0, dot);
  }
  return inner;
}

}  // namespace

std::span<const Blank> blanks() {
  return table;
}

const Blank& blank_for(std::string_view name, std::string_view path) {
  std::string names, endings;
  for (const Blank& blank : table) {
    names += (names.empty() ? "" : ", ") + std::string(blank.name);
    if (blank.name != name && blank.policy != name) continue;
    if (has_word(blank.endings, ending_of(path))) return blank;
    if (endings.empty()) endings = blank.endings;
  }
  if (!endings.empty()) {
    throw Error(Status::refused, fmt::format("{}: no file of {} ends like that", path, name),
                fmt::format("these do: {}; .json and .h5 hold a state for tare itself", endings));
  }
  for (const Homeless& one : homeless) {
    if (one.name == name) throw Error(Status::refused, std::string(one.why), "use --into with a checkpoint of it");
  }
  throw Error(Status::invalid_argument, fmt::format("there is no framework \"{}\"", name), "there are: " + names);
}

bool holds(const Blank& blank, std::string_view native) {
  return std::any_of(blank.fields.begin(), blank.fields.end(), [&](const BlankField& field) {
    return (field.key.empty() ? field.name : field.key) == native || field.name == native;
  });
}

Document scaler_of(const Blank& blank, const ScalerState& state) {
  DocumentMap fields;
  for (const BlankField& field : blank.fields) {
    const std::string_view key = field.key.empty() ? field.name : field.key;
    fields.push_back({std::string(field.name), value_as(field.type, find(state, key), key)});
  }
  if (blank.class_name.empty()) return {std::move(fields)};
  return {DocumentObject{std::string(blank.module), std::string(blank.class_name), std::move(fields)}};
}

Document filled(const Blank& blank, const ScalerState& state) {
  Document whole = at_path(blank.path, scaler_of(blank, state));
  if (blank.version_key.empty()) return whole;
  const std::string framework(policy_of(state)->framework);  // "deepspeed 0.19.8"
  std::get<DocumentMap>(whole.value)
      .push_back({std::string(blank.version_key), Document{framework.substr(framework.find(' ') + 1)}});
  return whole;
}

}  // namespace tare
