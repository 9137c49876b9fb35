// Source: keras/src/saving/serialization_lib.py: objects are {"module", "class_name", "config"}; __lambda__ holds
// marshalled Python code.
#include "lib/container/keras_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/keras_class.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

constexpr std::size_t most_named = 8;

std::string_view text_at(const Tree& tree, NodeId map, std::string_view key) {
  const NodeId text = tree.find(map, key);
  return text != nowhere && tree.kind(text) == Kind::string ? tree.text(text) : std::string_view();
}

/// Objects that name what they are elsewhere than as their class.
struct NamedElsewhere {
  std::string_view class_name;
  std::string_view named_by;
};
constexpr NamedElsewhere named_elsewhere[] = {
    {"function", "config"}, {"builtin_function_or_method", "config"}, {"__typespec__", "spec_name"}};

constexpr std::string_view lambda = "__lambda__";

/// Where Keras looks for a class of which the configuration does not say the module.
constexpr std::string_view own_layers = "keras.layers";

/// Packages under which Keras registers what it ships.
constexpr std::string_view own_registrations[] = {"keras", "keras.src", "keras_core", "tf_keras"};

/// Under a package and a name of which its own program registered a class, which wins over the one that is named
/// beside it; nothing where Keras did.
std::optional<GlobalName> registered_elsewhere(const Tree& tree, NodeId map) {
  const std::string_view registered = text_at(tree, map, "registered_name");
  const std::size_t end = registered.find('>');
  if (end == registered.npos) return std::nullopt;
  const std::string_view package = registered.substr(0, end);
  if (std::ranges::find(own_registrations, package) != std::end(own_registrations)) return std::nullopt;
  return GlobalName{std::string(package), std::string(registered.substr(end + 1)), tree.span(map).offset};
}

/// What loading `map` makes Keras import or run; nothing where it is one of Keras's own, or no object.
std::optional<GlobalName> foreign_name(const Tree& tree, NodeId map) {
  std::string_view name = text_at(tree, map, "class_name");
  if (name.empty()) return std::nullopt;
  const std::uint64_t offset = tree.span(map).offset;
  if (name == lambda) return GlobalName{"marshal", "loads", offset};
  for (const NamedElsewhere& form : named_elsewhere) {
    if (name == form.class_name) name = text_at(tree, map, form.named_by);
  }
  const std::string_view module = text_at(tree, map, "module");
  if (is_keras_class(module, name)) return registered_elsewhere(tree, map);
  return GlobalName{std::string(module.empty() ? own_layers : module), std::string(name), offset};
}

std::string problem_of(const GlobalName& name) {
  if (name.module == "marshal") return "config.json holds marshalled Python code (a lambda): never run";
  return fmt::format("config.json names {}.{}, outside Keras: never imported", name.module, name.name);
}

/// A configuration by itself, for whoever asks what loading it does.
class KerasConfiguration final : public Container {
 public:
  KerasConfiguration(std::string name, KerasConfig config) : name_(std::move(name)), config_(std::move(config)) {}

  [[nodiscard]] std::string_view format() const override { return "keras_config"; }
  [[nodiscard]] const Tree& tree() const override { return config_.tree ? *config_.tree : none_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return config_.findings; }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return config_.foreign; }
  [[nodiscard]] FileChange change(std::span<const NodeChange>) const override {
    throw Error(Status::refused, name_ + ": what a model is made of is only read");
  }

 private:
  std::string name_;
  KerasConfig config_;
  Tree none_;
};

}  // namespace

const Tree* configuration_of(const Container& container) {
  const auto* with = dynamic_cast<const WithConfiguration*>(&container);
  return with == nullptr ? nullptr : with->configuration();
}

std::vector<GlobalName> foreign_keras_names(const Tree& tree) {
  constexpr std::uint64_t bytes_a_name = 512;  // here, in the answer and in what it is judged by
  std::vector<GlobalName> names;
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::map) continue;
    auto name = foreign_name(tree, node);
    if (!name) continue;
    tree.take_memory(bytes_a_name + 3 * (name->module.size() + name->name.size()));
    names.push_back(std::move(*name));
  }
  return names;
}

KerasConfig read_keras_config(ByteView text, const std::string& source, const std::shared_ptr<Budget>& budget) {
  KerasConfig config;
  const auto warn = [&](std::string_view code, std::string message) {
    const auto is_same = [&](const Finding& finding) { return finding.message == message; };
    if (config.findings.size() == most_named || std::ranges::any_of(config.findings, is_same)) return;
    config.findings.push_back({Severity::warning, std::string(code), std::move(message), {}, {}});
  };
  try {
    PlainTree contents = read_json(text, source, budget);
    const Tree& tree = config.tree.emplace(std::move(contents.tree()));
    config.foreign = foreign_keras_names(tree);
    for (const GlobalName& name : config.foreign) warn("opaque-class", problem_of(name));
  } catch (const Error& error) {
    warn("config-not-read", error.what());
  }
  return config;
}

std::unique_ptr<Container> open_keras_config(const std::shared_ptr<const Source>& source) {
  const std::uint64_t size = std::min<std::uint64_t>(source->size(), limits::max_small_text_bytes);
  KerasConfig config = read_keras_config(source->read({0, size}), source->name(), source->budget());
  return std::make_unique<KerasConfiguration>(source->name(), std::move(config));
}

}  // namespace tare
