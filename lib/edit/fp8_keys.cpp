#include "lib/edit/fp8_keys.hpp"

#include "lib/base/error.hpp"

namespace tare {

std::string renamed(std::string path, std::string_view from, std::string_view to) {
  if (from.empty()) return path;
  for (std::size_t at = path.find(from); at != std::string::npos; at = path.find(from, at)) {
    const std::size_t end = at + from.size();
    const bool is_whole = (at == 0 || path[at - 1] == '.') && (end == path.size() || path[end] == '.');
    if (is_whole) path.replace(at, from.size(), to);
    at += is_whole ? to.size() : 1;
  }
  return path;
}

StateKey key_of_state(const Tree& tree, NodeId state) {
  for (NodeId map = 0; map < tree.size(); ++map) {
    if (tree.kind(map) != Kind::map) continue;
    const auto pairs = tree.items(map);
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (pairs[i + 1] == state && tree[pairs[i]].store == RunIn::text) return {map, pairs[i]};
    }
  }
  throw Error(Status::refused, "the keys of this checkpoint do not stand with its values",
              "tare renames in files of torch.save alone");
}

}  // namespace tare
