// Trees made by hand: what a container would read.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/tree/tree.hpp"

namespace tare {

class MadeTree {
 public:
  Tree tree;

  NodeId text(std::string_view text) { return tree.add_side_text(Kind::string, text, {}); }
  NodeId none() { return tree.add({}); }
  NodeId number(double value) {
    Node node;
    node.kind = Kind::floating;
    node.as.floating = value;
    return tree.add(node);
  }
  NodeId integer(std::int64_t value) {
    Node node;
    node.kind = Kind::integer;
    node.as.integer = value;
    return tree.add(node);
  }
  NodeId flag(bool value) {
    Node node;
    node.kind = Kind::boolean;
    node.as.boolean = value;
    return tree.add(node);
  }
  NodeId list(std::vector<NodeId> items) { return tree.add_items(Kind::list, std::move(items), {}); }
  NodeId map(std::initializer_list<std::pair<std::string_view, NodeId>> pairs) {
    std::vector<NodeId> items;
    for (const auto& [key, value] : pairs) {
      items.push_back(text(key));
      items.push_back(value);
    }
    return tree.add_items(Kind::map, items, {});
  }
  NodeId name(std::string_view module, std::string_view name) {
    return tree.add_items(Kind::name, std::array{text(module), text(name)}, {});
  }
  /// An instance of module.name with those attributes.
  NodeId object(std::string_view module, std::string_view type, NodeId attributes) {
    const std::array parts{name(module, type), tree.add_items(Kind::tuple, {}, {}), attributes, nowhere};
    return tree.add_items(Kind::opaque, parts, {});
  }
  NodeId grad_scaler(double scale = 65536.0) {
    return map({{"scale", number(scale)},
                {"growth_factor", number(2.0)},
                {"backoff_factor", number(0.5)},
                {"growth_interval", integer(2000)},
                {"_growth_tracker", integer(5)}});
  }
};

}  // namespace tare
