// What can only be told of a pickle once all of it is read.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "lib/base/limits.hpp"
#include "lib/container/pickle/read/machine.hpp"

namespace tare {
namespace {

/// What Python's dict takes for the same key: 1, 1.0 and True are one.
struct KeyIdentity {
  enum class Class : std::uint8_t { string, bytes, number, big_integer, none, node } of;
  std::uint64_t hash;
  std::string_view text;

  friend bool operator==(const KeyIdentity&, const KeyIdentity&) = default;
  friend auto operator<=>(const KeyIdentity&, const KeyIdentity&) = default;
};

std::uint64_t number_hash(double value) {
  if (value >= -0x1p62 && value <= 0x1p62 && value == static_cast<double>(static_cast<std::int64_t>(value))) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  return std::bit_cast<std::uint64_t>(value);
}

KeyIdentity identity(const Tree& tree, NodeId key) {
  using Class = KeyIdentity::Class;
  const Node& node = tree[key];
  switch (node.kind) {
    case Kind::string:
      return {Class::string, std::hash<std::string_view>()(tree.text(key)), tree.text(key)};
    case Kind::bytes:
      return {Class::bytes, std::hash<std::string_view>()(tree.text(key)), tree.text(key)};
    case Kind::boolean:
      return {Class::number, node.as.boolean ? 1u : 0u, {}};
    case Kind::floating:
      return {Class::number, number_hash(node.as.floating), {}};
    case Kind::integer:
      if (node.store == RunIn::side) return {Class::big_integer, 0, tree.text(key)};
      return {Class::number, static_cast<std::uint64_t>(node.as.integer), {}};
    case Kind::none:
      return {Class::none, 0, {}};
    default:
      return {Class::node, key, {}};
  }
}

bool has_control_character(std::string_view text) {
  unsigned found = 0;
  for (const char c : text)
    found |= static_cast<unsigned char>(c) < 0x20;  // no early end: the compiler takes many at once
  return found != 0;
}

/// A dict keeps the place of a key's first setting and the value of its last.
class KeyMerger {
 public:
  explicit KeyMerger(Pickle& pickle) : pickle_(pickle), tree_(pickle.tree) {
    for (FewKeys& none : known_) none.fill(nowhere);
  }

  void merge(NodeId map) {
    const auto pairs = tree_.items(map);
    const bool are_few = pairs.size() <= 2 * few;
    if (are_few && are_known(pairs)) return;
    if (pairs.size() / 2 > keys_.capacity()) tree_.take_memory((pairs.size() / 2 - keys_.capacity()) * bytes_a_key);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (tree_.kind(pairs[i]) != Kind::string) continue;
      tree_.take_steps(tree_[pairs[i]].as.run.count);
      if (has_control_character(tree_.text(pairs[i]))) report_unprintable(pairs[i]);
    }
    keys_.clear();
    keys_.reserve(pairs.size() / 2);
    for (std::uint32_t i = 0; i < pairs.size(); i += 2) keys_.push_back({identity(tree_, pairs[i]), i});
    if (have_own_hashes()) {
      if (are_few) learn(pairs);
      return;
    }
    std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
      if (a.identity.hash != b.identity.hash) return a.identity.hash < b.identity.hash;
      if (a.identity != b.identity) return a.identity < b.identity;
      return a.index < b.index;
    });
    const auto is_same = [](const Key& a, const Key& b) { return a.identity == b.identity; };
    if (std::adjacent_find(keys_.begin(), keys_.end(), is_same) != keys_.end()) drop_twins(map);
  }

 private:
  struct Key {
    KeyIdentity identity;
    std::uint32_t index;
  };
  static constexpr std::size_t bytes_a_key = sizeof(Key) + 4 * sizeof(std::uint64_t);  // itself, and hashes
  static constexpr std::size_t few = 8;
  using FewKeys = std::array<NodeId, few>;

  [[nodiscard]] static FewKeys few_keys(std::span<const NodeId> pairs) {
    FewKeys keys;
    keys.fill(nowhere);
    for (std::size_t i = 0; i < pairs.size(); i += 2) keys[i / 2] = pairs[i];
    return keys;
  }

  /// Objects of one class bear the same keys, which picklers fetch from the memo: their numbers tell.
  [[nodiscard]] bool are_known(std::span<const NodeId> pairs) const {
    return pairs.empty() || known_[pairs[0] % known_.size()] == few_keys(pairs);
  }
  void learn(std::span<const NodeId> pairs) { known_[pairs[0] % known_.size()] = few_keys(pairs); }

  /// True only if no two keys have the same hash, so that no two are the same. False where that was not told quickly.
  [[nodiscard]] bool have_own_hashes() {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  // odd: different hashes stay different
    constexpr std::size_t most_steps = 64;                // keys that somebody made to crowd do not cost their square
    hashes_.assign(std::bit_ceil(2 * keys_.size()), 0);
    const std::size_t mask = hashes_.size() - 1;
    for (const Key& key : keys_) {
      const std::uint64_t hash = std::max<std::uint64_t>(key.identity.hash * spread, 1);  // 0 is a free place
      std::size_t at = hash >> 32 & mask;
      for (std::size_t steps = 0; hashes_[at] != 0; at = (at + 1) & mask) {
        if (hashes_[at] == hash || ++steps == most_steps) return false;
      }
      hashes_[at] = hash;
    }
    return true;
  }

  void drop_twins(NodeId map) {
    std::vector<bool> dropped(tree_.items(map).size());
    std::size_t first = 0;
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      if (keys_[i].identity != keys_[first].identity) {
        first = i;
        continue;
      }
      tree_.replace_item(map, keys_[first].index + 1, tree_.items(map)[keys_[i].index + 1]);
      dropped[keys_[i].index] = true;
      report(tree_.items(map)[keys_[i].index]);
    }
    compact(map, dropped);
  }

  void compact(NodeId map, const std::vector<bool>& dropped) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < dropped.size(); i += 2) {
      const NodeId key = tree_.items(map)[i];
      const NodeId value = tree_.items(map)[i + 1];
      if (dropped[i]) continue;
      tree_.replace_item(map, kept++, key);
      tree_.replace_item(map, kept++, value);
    }
    tree_.truncate_items(map, kept);
  }

  void report(NodeId key) {
    if (reported_++ >= 8) return;
    pickle_.findings.push_back({Severity::warning,
                                "duplicate-key",
                                fmt::format("key '{}' is set twice; the last value counts", tree_.key_text(key)),
                                {},
                                {}});
  }

  void report_unprintable(NodeId key) {
    if (unprintable_++ > 0) return;
    pickle_.findings.push_back({Severity::warning,
                                "unprintable-name",
                                fmt::format("key '{}' has control characters", tree_.key_text(key)),
                                {},
                                {}});
  }

  Pickle& pickle_;
  Tree& tree_;
  std::vector<Key> keys_;
  std::vector<std::uint64_t> hashes_;
  std::array<FewKeys, 16> known_;  ///< keys of which no two are the same
  std::size_t reported_ = 0;
  std::size_t unprintable_ = 0;
};

/// Walks the tree once, without recursion, and tells how deep it is, whether it holds itself, and how large it would be
/// if every shared value were written out.
class ShapeWalk {
 public:
  explicit ShapeWalk(const Tree& tree) : tree_(tree), expanded_(tree.size(), fresh) {}

  void run() {
    if (has_children(tree_.root)) enter(tree_.root);
    while (!stack_.empty()) {
      Step& step = stack_.back();
      if (step.next == step.end) {
        leave();
        continue;
      }
      const NodeId child = *step.next++;
      if (child == nowhere || !has_children(child)) continue;
      if (expanded_[child] == fresh) {
        enter(child);
      } else if (expanded_[child] == open) {
        holds_itself = true;
      } else {
        step.expanded += expanded_[child];
      }
    }
  }

  std::size_t depth = 0;
  bool holds_itself = false;
  [[nodiscard]] float expanded() const { return expanded_[tree_.root]; }

 private:
  struct Step {
    const NodeId* next;
    const NodeId* end;
    NodeId node;
    float expanded;
  };
  static constexpr float fresh = 0.0f;
  static constexpr float open = -1.0f;

  [[nodiscard]] bool has_children(NodeId id) const {
    const Kind kind = tree_.kind(id);
    return (kind >= Kind::list && kind <= Kind::map) || kind == Kind::opaque;
  }

  void enter(NodeId id) {
    const auto children = tree_.kind(id) == Kind::opaque ? tree_.parts(id) : tree_.items(id);
    expanded_[id] = open;
    stack_.push_back(
        {children.data(), children.data() + children.size(), id, 1.0f + static_cast<float>(children.size())});
    depth = std::max(depth, stack_.size());
  }

  void leave() {
    const Step done = stack_.back();
    expanded_[done.node] = done.expanded;
    stack_.pop_back();
    if (!stack_.empty()) stack_.back().expanded += done.expanded;
  }

  const Tree& tree_;
  std::vector<float> expanded_;  ///< fresh, open, or what the value and all in it would be, written out
  std::vector<Step> stack_;
};

/// A walk that expands sharing costs this much more than the file is long: no real checkpoint does.
constexpr float max_expansion = 1e4f;

void report_shape(Pickle& pickle) {
  ShapeWalk walk(pickle.tree);
  walk.run();
  const auto warn = [&](std::string_view code, std::string message) {
    pickle.findings.push_back({Severity::warning, std::string(code), std::move(message), {}, {}});
  };
  if (walk.depth > limits::max_depth) {
    warn("deep-nesting", fmt::format("is nested {} deep; Python's own reader of it may give up", walk.depth));
  }
  if (walk.holds_itself) warn("self-reference", "holds itself: a value is reached again inside itself");
  if (walk.expanded() > max_expansion * static_cast<float>(pickle.tree.size() + 1)) {
    warn("shared-expansion", "shares values so that written out it would be astronomically large");
  }
}

/// Whether the name stands for nothing but calls that the machine took for plain data.
bool is_only_data(const Tree& tree, const GlobalName& global) {
  if (callee_of(global.module, global.name) != Callee::paddle_tensor) return false;
  const auto is_eval = [&](NodeId id) {
    return id != nowhere && tree.kind(id) == Kind::name &&
           tree[id].detail == static_cast<std::uint16_t>(Callee::paddle_tensor);
  };
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) == Kind::array || tree.kind(id) == Kind::name) continue;
    const auto items = tree.items(id);
    const auto parts = tree.parts(id);
    if (std::any_of(items.begin(), items.end(), is_eval) || std::any_of(parts.begin(), parts.end(), is_eval)) {
      return false;
    }
  }
  return !is_eval(tree.root);
}

void report_globals(Pickle& pickle) {
  std::string refused;
  std::size_t refused_count = 0;
  for (const GlobalName& global : pickle.globals) {
    const Trust trust = trust_of(global.module, global.name);
    const std::string spelled = fmt::format("{}.{}", global.module, global.name);
    if (trust == Trust::dangerous && is_only_data(pickle.tree, global)) continue;
    if (trust == Trust::dangerous) {
      pickle.findings.push_back(
          {Severity::warning,
           "dangerous-global",
           fmt::format("names {}, which can run code when a framework loads it; tare never does", spelled),
           {},
           {}});
    } else if (trust == Trust::refused && refused_count++ < 3) {
      refused += (refused.empty() ? "" : ", ") + spelled;
    }
  }
  if (refused_count == 0) return;
  if (refused_count > 3) refused += fmt::format(" and {} more", refused_count - 3);
  pickle.findings.push_back({Severity::note,
                             "opaque-class",
                             fmt::format("names {}, outside torch's weights_only: shown as opaque, never run", refused),
                             {},
                             {}});
}

}  // namespace

void finish_pickle(Pickle& pickle) {
  KeyMerger merger(pickle);
  for (NodeId id = 0; id < pickle.tree.size(); ++id) {
    if (pickle.tree.kind(id) == Kind::map) merger.merge(id);
  }
  report_shape(pickle);
  report_globals(pickle);
}

}  // namespace tare
