#include "tests/unit/container/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "tests/places.hpp"

namespace tare::test {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

void require_before(const Bytes& image, std::uint64_t offset, ByteView before) {
  require(offset <= image.size() && before.size() <= image.size() - offset, "a change passes the end of the image");
  require(std::equal(before.begin(), before.end(), image.begin() + static_cast<std::ptrdiff_t>(offset)),
          "a change expects other bytes than the image has");
}

std::string spelled(const Value& value) {
  struct Speller {
    std::string operator()(std::monostate) const { return "-"; }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(const Integer& i) const { return i.text(); }
    std::string operator()(double d) const { return float_text(d); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const ValueList& list) const {
      std::string all = "[";
      for (const Value& item : list) all += spelled(item) + " ";
      return all + "]";
    }
    std::string operator()(const PackedArray& array) const {
      std::string all = "[";
      for (std::uint64_t i = 0; i < array.count(); ++i) all += spelled(array.at(i)) + " ";
      return all + "]";
    }
  };
  return std::visit(Speller(), value.data);
}

}  // namespace

std::string corpus_path(std::string_view file) {
  return std::string(TARE_TEST_DATA "/corpus/").append(file);
}

Bytes corpus_bytes(std::string_view file) {
  const FileSource source(corpus_path(file));
  return source.read({0, source.size()});
}

std::unique_ptr<Container> open_image(const Bytes& image) {
  return open_container(std::make_shared<MemorySource>("image", image));
}

std::unique_ptr<Container> open_corpus(std::string_view file) {
  return open_container(std::make_shared<FileSource>(corpus_path(file)));
}

Bytes applied(Bytes image, const FileChange& change) {
  for (const Patch& patch : change.patches) {
    require(patch.before.size() == patch.after.size(), "a patch changes the size");
    require_before(image, patch.offset, patch.before);
    std::copy(patch.after.begin(), patch.after.end(), image.begin() + static_cast<std::ptrdiff_t>(patch.offset));
  }
  if (change.append) {
    require(change.append->old_size == image.size(), "an append expects another size");
    for (const Bytes* part : {&change.append->body, &change.append->commit}) {
      image.insert(image.end(), part->begin(), part->end());
    }
  }
  if (change.splice) {
    const Splice& splice = *change.splice;
    const bool is_end = splice.offset + splice.before.size() == image.size();
    require((change.patches.empty() || is_end) && !change.append, "a splice in the middle does not come alone");
    require_before(image, splice.offset, splice.before);
    const auto at = image.begin() + static_cast<std::ptrdiff_t>(splice.offset);
    const auto next = image.erase(at, at + static_cast<std::ptrdiff_t>(splice.before.size()));
    image.insert(next, splice.after.begin(), splice.after.end());
  }
  return image;
}

NodeId node_at(const Tree& tree, std::initializer_list<Step> steps) {
  NodeId node = tree.root;
  for (const Step& step : steps) {
    if (node == nowhere) return nowhere;
    if (const auto* key = std::get_if<std::string_view>(&step)) {
      node = tree.find(tree.fields(node), *key);
    } else {
      const auto items = tree.items(node);
      const std::size_t index = std::get<std::size_t>(step);
      node = index < items.size() ? items[index] : nowhere;
    }
  }
  return node;
}

std::string seen(const Tree& tree, NodeId node) {
  constexpr std::uint64_t few = 64;
  const std::string kind = fmt::format("{}", static_cast<int>(tree.kind(node)));
  try {
    const Value value = tree.value(node, few);
    return fmt::format("{} {} {}", kind, value.type, spelled(value));
  } catch (const Error& error) {
    return fmt::format("{} {}", kind, error.what());
  }
}

std::vector<NodeId> differing(const Tree& a, const Tree& b) {
  require(a.size() == b.size() && a.root == b.root, "the trees have not the same nodes");
  std::vector<NodeId> found;
  for (NodeId node = 0; node < a.size(); ++node) {
    const auto items_a = a.items(node);
    const auto items_b = b.items(node);
    const bool same_items = std::equal(items_a.begin(), items_a.end(), items_b.begin(), items_b.end());
    if (!same_items || seen(a, node) != seen(b, node)) found.push_back(node);
  }
  return found;
}

std::vector<std::uint64_t> changed_offsets(const Bytes& a, const Bytes& b) {
  require(a.size() == b.size(), "the images have not the same size");
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) offsets.push_back(i);
  }
  return offsets;
}

Bytes bytes_of(std::string_view text) {
  const ByteView bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

std::string text_op(std::string_view text) {
  return 'X' + std::string{static_cast<char>(text.size()), 0, 0, 0} + std::string(text);
}

}  // namespace tare::test
