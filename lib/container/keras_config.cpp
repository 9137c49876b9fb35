// Source: keras/src/saving/serialization_lib.py: objects are {"module", "class_name", "config"}; __lambda__ holds
// marshalled Python code.
#include "lib/container/keras_config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

constexpr std::size_t most_told = 8;

std::string_view text_at(const Tree& tree, NodeId map, std::string_view key) {
  const NodeId text = tree.find(map, key);
  return text != nowhere && tree.kind(text) == Kind::string ? tree.text(text) : std::string_view();
}

bool is_from_keras(std::string_view module) {
  return module.empty() || module == "keras" || module == "builtins" || module.starts_with("keras.");
}

/// Empty where the object is one of Keras's own.
std::string problem_of(const Tree& tree, NodeId map) {
  const std::string_view class_name = text_at(tree, map, "class_name");
  const std::string_view module = text_at(tree, map, "module");
  if (class_name == "__lambda__") return "config.json holds marshalled Python code (a lambda): never run";
  if (class_name.empty() || is_from_keras(module)) return {};
  return fmt::format("config.json names {}.{}, outside Keras: never imported", module, class_name);
}

}  // namespace

const Tree* configuration_of(const Container& container) {
  const auto* with = dynamic_cast<const WithConfiguration*>(&container);
  return with == nullptr ? nullptr : with->configuration();
}

KerasConfig read_keras_config(ByteView text, const std::string& source, const std::shared_ptr<Budget>& budget) {
  KerasConfig config;
  const auto warn = [&](std::string_view code, std::string message) {
    const auto is_same = [&](const Finding& finding) { return finding.message == message; };
    if (config.findings.size() == most_told || std::ranges::any_of(config.findings, is_same)) return;
    config.findings.push_back({Severity::warning, std::string(code), std::move(message), {}, {}});
  };
  try {
    PlainTree contents = read_json(text, source, budget);
    const Tree& tree = config.tree.emplace(std::move(contents.tree()));
    for (NodeId node = 0; node < tree.size(); ++node) {
      if (tree.kind(node) != Kind::map) continue;
      if (std::string problem = problem_of(tree, node); !problem.empty()) warn("opaque-class", std::move(problem));
    }
  } catch (const Error& error) {
    warn("config-not-read", error.what());
  }
  return config;
}

}  // namespace tare
