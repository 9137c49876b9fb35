#include "lib/dialect/fp8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/tree/path.hpp"

namespace tare {
namespace {

/// A key that ends like this, perhaps with a number behind (one of several matrix products in one module).
struct KeySign {
  std::string_view ending;
  const char* what;
};

constexpr auto key_signs = std::to_array<KeySign>({
    {"_extra_state", "TransformerEngine's extra state, FP8 scales if its recipe keeps any,"},
    {"fp8_amax_history_input", "torchao's FP8 state"},
    {"fp8_amax_history_weight", "torchao's FP8 state"},
    {"fp8_amax_history_grad_output", "torchao's FP8 state"},
    {"fp8_state", "TransformerEngine's FP8 state for Paddle"},
});
constexpr std::size_t shortest_ending = 9;

/// An object whose class stands in a module of this package.
struct ClassSign {
  std::string_view package;
  std::string_view class_name;
  const char* what;
};

constexpr auto class_signs = std::to_array<ClassSign>({
    {"msamp.", "ScalingTensor", "MS-AMP's FP8 state"},
    {"msamp.", "ScalingParameter", "MS-AMP's FP8 state"},
    {"torchao.", "Float8Tensor", "torchao's FP8 state"},
});

const KeySign* key_sign(std::string_view key) {
  key = key.substr(0, key.find("/shard_"));  // as Megatron-core stores a sharded object
  const std::size_t last = key.find_last_not_of("0123456789");
  key = key.substr(0, last == std::string_view::npos ? 0 : last + 1);
  const auto ends = [&](const KeySign& sign) { return key.ends_with(sign.ending); };
  const auto sign = std::find_if(key_signs.begin(), key_signs.end(), ends);
  return sign == key_signs.end() ? nullptr : &*sign;
}

const ClassSign* class_sign(const QualifiedName& name) {
  const auto fits = [&](const ClassSign& sign) {
    return name.name == sign.class_name && name.module.starts_with(sign.package);
  };
  const auto sign = std::find_if(class_signs.begin(), class_signs.end(), fits);
  return sign == class_signs.end() ? nullptr : &*sign;
}

/// Without FP8 a module's extra state is an empty tensor, or the four bytes of a pickled None.
bool holds_something(const Tree& tree, NodeId value) {
  constexpr std::uint64_t pickled_none = 4;
  const auto items = tree.kind(value) == Kind::list ? tree.items(value) : std::span<const NodeId>();
  if (items.size() == 1) value = items.front();  // a sharded object
  const Kind kind = tree.kind(value);
  if (kind == Kind::tensor || kind == Kind::array) return tree.tensor(value).count() > pickled_none;
  return kind == Kind::opaque || kind == Kind::bytes || kind == Kind::map || kind == Kind::list;
}

/// The class of an object, or the one that a tensor subclass is rebuilt as.
QualifiedName class_of(const Tree& tree, NodeId opaque) {
  const QualifiedName own = tree.qualified_name(opaque);
  if (own.name != "_rebuild_wrapper_subclass") return own;
  const auto arguments = tree.arguments(opaque);
  const auto items = arguments == nowhere ? std::span<const NodeId>() : tree.items(arguments);
  return items.empty() ? own : tree.qualified_name(items.front());
}

}  // namespace

void Fp8Signs::look_at(NodeId map, const TreeWalk& walk) {
  const auto pairs = tree_.items(map);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const NodeId value = pairs[i + 1];
    if (tree_.kind(value) == Kind::opaque) {
      const ClassSign* sign = class_sign(class_of(tree_, value));
      if (sign != nullptr) add(sign->what, walk, pairs[i]);
    }
    if (tree_.kind(pairs[i]) != Kind::string || tree_[pairs[i]].as.run.count < shortest_ending) continue;
    const KeySign* sign = key_sign(tree_.text(pairs[i]));
    if (sign != nullptr && holds_something(tree_, value)) add(sign->what, walk, pairs[i]);
  }
}

void Fp8Signs::add(const char* what, const TreeWalk& walk, NodeId key) {
  const auto is_it = [&](const Sign& sign) { return std::string_view(sign.what) == what; };
  const auto sign = std::find_if(signs_.begin(), signs_.end(), is_it);
  if (sign != signs_.end()) {
    ++sign->count;
  } else {
    signs_.push_back({what, 1, key_path(walk.path(walk.current()), tree_.key_text(key))});
  }
}

void Fp8Signs::report(std::vector<Finding>& findings) const {
  for (const Sign& sign : signs_) {
    findings.push_back(
        {Severity::note, "fp8-not-read",
         fmt::format("{} is in {} place{} and not read yet", sign.what, sign.count, sign.count == 1 ? "" : "s"), "",
         sign.first});
  }
}

}  // namespace tare
