#include "lib/dialect/empty_place.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/glob.hpp"
#include "lib/dialect/release_keys.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

/// A state in the older of torch's formats is the same state.
bool is_format(const StateTemplate& form, std::string_view format) {
  return form.format == format || (form.format == "torch_zip" && format == "torch_legacy");
}

const StateTemplate* template_of(const Dialect& dialect, std::string_view format) {
  const auto is_it = [&](const StateTemplate& form) { return form.dialect == &dialect && is_format(form, format); };
  const auto found = std::ranges::find_if(dialect.templates, is_it);
  return found == dialect.templates.end() ? nullptr : &*found;
}

/// What stands in a file of which only the format is known.
const StateTemplate* usual_template(std::string_view format) {
  for (const Dialect* dialect : dialects()) {
    for (const StateTemplate& form : dialect->templates) {
      if (form.is_usual && is_format(form, format)) return &form;
    }
  }
  return nullptr;
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
bool is_empty(const Tree& tree, NodeId node, const StateTemplate& form) {
  if (node == nowhere) return false;
  if (tree.kind(node) == Kind::none) return true;
  if (tree.kind(node) != Kind::map) return false;
  if (tree.items(node).empty() || is_only_paddles(tree, node)) return true;
  const auto stored = [&](const TemplateField& field) { return tree.find(node, field.name); };
  const auto is_there = [&](const TemplateField& field) { return stored(field) != nowhere; };
  const auto lacks = [&](const TemplateField& field) {
    return stored(field) == nowhere || tree.kind(stored(field)) == Kind::none;
  };
  return std::any_of(form.fields.begin(), form.fields.end(), is_there) &&
         std::any_of(form.fields.begin(), form.fields.end(), lacks);
}

/// Where the map is that would hold the last key of the path.
std::optional<EmptyPlace> place_without_key(const StateTemplate& form, const Tree& tree, const EmptyAt& place) {
  const std::size_t dot = place.path.rfind('.');
  if (dot == place.path.npos) return std::nullopt;
  const NodeId around = at_path(tree, place.path.substr(0, dot));
  if (around == nowhere || tree.kind(around) != Kind::map) return std::nullopt;
  return EmptyPlace{&form, std::string(place.path), around, place.read_by, std::string(place.path.substr(dot + 1))};
}

/// The first place that the dialect's framework, or a trainer, leaves empty.
std::optional<EmptyPlace> place_of(const Dialect& dialect, const Tree& tree, std::string_view file,
                                   std::string_view format, const std::optional<std::string>& at) {
  const StateTemplate* form = template_of(dialect, format);
  if (form == nullptr) return std::nullopt;
  const auto first_in = [&](std::span<const EmptyAt> places) -> std::optional<EmptyPlace> {
    for (const EmptyAt& place : places) {
      const bool is_file = place.file.empty() || glob_matches(place.file, file_name(file));
      if ((at && *at != place.path) || !is_file) continue;
      const NodeId node = at_path(tree, place.path);
      if (is_empty(tree, node, *form)) return EmptyPlace{form, std::string(place.path), node, place.read_by};
      if (node == nowhere && place.lacks_key) {
        if (auto missing = place_without_key(*form, tree, place)) return missing;
      }
    }
    return std::nullopt;
  };
  if (auto place = first_in(dialect.empty_at)) return place;
  for (const Trainer* trainer : trainers()) {
    if (trainer->keeps != dialect.name) continue;
    if (auto place = first_in(trainer->empty_at)) return place;
  }
  return std::nullopt;
}

/// Of a trainer whose releases keep no key at all for a precision without a scaler.
std::optional<EmptyPlace> place_by_release(const ReleaseKey& row, const Tree& tree, std::string_view format) {
  const NodeId root = tree.fields(tree.root);
  const NodeId version = tree.find(root, row.version_key);
  const StateTemplate* form = template_of(*row.dialect, format);
  if (version == nowhere || tree.kind(version) != Kind::string || form == nullptr) return std::nullopt;
  try {
    const std::string key(key_in_release(row, tree.text(version)).key);
    if (tree.find(root, key) != nowhere) return std::nullopt;
    return EmptyPlace{form, key, root, {}, key};
  } catch (const Error&) {
    return std::nullopt;  // a version that says nothing: "2.6.0.dev0"
  }
}

}  // namespace

std::optional<EmptyPlace> empty_place(const Tree& tree, const FileContext& file, std::string_view format,
                                      const std::optional<std::string>& at) {
  for (const Dialect* dialect : dialects()) {
    if (auto place = place_of(*dialect, tree, file.name, format, at)) return place;
  }
  if (auto place = place_by_release(release_keys().front(), tree, format); place && (!at || *at == place->path)) {
    return place;
  }
  if (!at) return std::nullopt;
  // A place of the user's own: what stands there tells nothing of its framework, the file's format does.
  const StateTemplate* usual = usual_template(format);
  const NodeId node = at_path(tree, *at);
  if (usual == nullptr || !is_empty(tree, node, *usual)) return std::nullopt;
  return EmptyPlace{usual, *at, node};
}

}  // namespace tare
