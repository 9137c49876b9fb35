#include "lib/dialect/empty_place.hpp"

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/dialect/release_keys.hpp"

namespace tare {
namespace {

struct Row {
  std::string_view blank;
  std::string_view path;
  std::string_view file = {};  ///< its name; empty: any
};

// First fit counts. Sources: each framework's state_dict() of a scaler that is off (torch/amp/grad_scaler.py,
// megatron/core/optimizer/grad_scaler.py, paddle/amp/grad_scaler.py), and flax's TrainState without a DynamicScale.
constexpr auto rows = std::to_array<Row>({
    {"megatron", "optimizer.grad_scaler", "model_optim_rng.pt"},
    {"megatron", "optimizer.grad_scaler", "common.pt"},
    {"colossalai", "optimizer.grad_scaler"},
    {"torch", "", "scaler.pt"},
    {"torch", "", "scaler.ckpt"},
    {"torch", "scaler"},
    {"torch", "amp_scaler"},
    {"torch", "grad_scaler"},
    {"torch", "loss_scaler"},
    {"torch", "scaler_state_dict"},
    {"torch", "grad_scaler_state"},
    {"torch", "state.scaler.GradScaler"},
    {"torch", "optimizer.loss_scaler"},
    {"torch", "trainer._trainer.grad_scaler"},
    {"torch", "trainer.grad_scaler"},
    {"paddle", "", "scaler.pdparams"},
    {"paddle", "scaler"},
    {"flax", "dynamic_scale"},
    {"jmp", "loss_scale"},
});

/// Of a checkpoint that Lightning wrote without a scaler.
constexpr std::string_view lightning_version_key = "pytorch-lightning_version";

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// A state in the older of torch's formats is the same state.
bool is_format(const Blank& blank, std::string_view format) {
  return blank.format == format || (blank.format == "torch_zip" && format == "torch_legacy");
}

const Blank* blank_named(std::string_view name, std::string_view format) {
  const auto found = std::find_if(blanks().begin(), blanks().end(),
                                  [&](const Blank& blank) { return blank.name == name && is_format(blank, format); });
  return found == blanks().end() ? nullptr : &*found;
}

NodeId at_path(const Tree& tree, std::string_view path) {
  NodeId node = tree.root;
  while (!path.empty() && node != nowhere) {
    const std::size_t dot = path.find('.');
    node = tree.find(tree.fields(node), path.substr(0, dot));
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

/// paddle.save adds a key to every dict.
bool is_only_paddles(const Tree& tree, NodeId map) {
  const auto pairs = tree.items(map);
  return pairs.size() == 2 && tree.key_text(pairs[0]) == "StructuredToParameterName@@";
}

/// None, {}, or a map with some of the keys that the state has and not all that it needs.
bool is_empty(const Tree& tree, NodeId node, const Blank& blank) {
  if (node == nowhere) return false;
  if (tree.kind(node) == Kind::none) return true;
  if (tree.kind(node) != Kind::map) return false;
  if (tree.items(node).empty() || is_only_paddles(tree, node)) return true;
  const auto stored = [&](const BlankField& field) { return tree.find(node, field.name); };
  const auto is_there = [&](const BlankField& field) { return stored(field) != nowhere; };
  const auto lacks = [&](const BlankField& field) {
    return stored(field) == nowhere || tree.kind(stored(field)) == Kind::none;
  };
  return std::any_of(blank.fields.begin(), blank.fields.end(), is_there) &&
         std::any_of(blank.fields.begin(), blank.fields.end(), lacks);
}

/// Lightning keeps no key at all for a precision without a scaler.
std::optional<EmptyPlace> lightning_place(const Tree& tree, std::string_view format) {
  const NodeId root = tree.fields(tree.root);
  const NodeId version = tree.find(root, lightning_version_key);
  const Blank* blank = blank_named("torch", format);
  if (version == nowhere || tree.kind(version) != Kind::string || blank == nullptr) return std::nullopt;
  try {
    const std::string key(key_in_release(release_keys().front(), tree.text(version)).key);
    if (tree.find(root, key) != nowhere) return std::nullopt;
    return EmptyPlace{blank, key, root, key};
  } catch (const Error&) {
    return std::nullopt;  // a version that says nothing: "2.6.0.dev0"
  }
}

}  // namespace

std::optional<EmptyPlace> empty_place(const Tree& tree, const FileContext& file, std::string_view format,
                                      const std::optional<std::string>& at) {
  for (const Row& row : rows) {
    const Blank* blank = blank_named(row.blank, format);
    if (blank == nullptr || (at && *at != row.path)) continue;
    if (!row.file.empty() && row.file != file_name(file.name)) continue;
    const NodeId node = at_path(tree, row.path);
    if (is_empty(tree, node, *blank)) return EmptyPlace{blank, std::string(row.path), node, {}};
  }
  if (auto place = lightning_place(tree, format); place && (!at || *at == place->path)) return place;
  if (!at) return std::nullopt;
  // A place of the user's own: what stands there tells nothing of its framework, the file's format does.
  const Blank* usual = nullptr;
  for (const Blank& blank : blanks()) {
    if (usual == nullptr && is_format(blank, format) && blank.class_name.empty()) usual = &blank;
  }
  const NodeId node = at_path(tree, *at);
  if (usual == nullptr || !is_empty(tree, node, *usual)) return std::nullopt;
  return EmptyPlace{usual, *at, node, {}};
}

}  // namespace tare
