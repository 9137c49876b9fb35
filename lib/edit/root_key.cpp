#include "lib/edit/root_key.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"

namespace tare {

std::string under_root_key(std::string_view path, std::string_view key) {
  const std::size_t dot = path.find('.');
  return std::string(key).append(dot == path.npos ? std::string_view() : path.substr(dot));
}

NodeId root_key_of(const Tree& tree, std::string_view path) {
  const std::string_view key = path.substr(0, path.find('.'));
  const auto pairs = tree.items(tree.fields(tree.root));
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const bool is_text = tree.kind(pairs[i]) == Kind::string && tree[pairs[i]].store == RunIn::text;
    if (is_text && tree.text(pairs[i]) == key) return pairs[i];
  }
  throw Error(Status::refused, fmt::format("'{}': no key of that name stands in the file with its value", key),
              "keys are renamed in files of torch.save alone");
}

}  // namespace tare
