// Any bytes as a document inside another: opened level by level, every tensor described and read, a number changed
// through all levels and read back.
#include <algorithm>
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/pickle/pickle_file.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;

namespace {

constexpr NodeId most_seen = 1024;
constexpr std::size_t most_opened = 16;
constexpr double wanted = 4096.0;

/// A pickle of {"a": the bytes}.
Bytes holding(ByteView content) {
  using namespace std::string_view_literals;
  Bytes image = test::bytes_of("\x80\x03}X\1\0\0\0aB"sv);
  append_le(image, static_cast<std::uint32_t>(content.size()));
  image.insert(image.end(), content.begin(), content.end());
  const Bytes end = test::bytes_of("s."sv);
  image.insert(image.end(), end.begin(), end.end());
  return image;
}

void change_first_element(const Bytes& image, const Container& file, NodeId holder, NodeId node) {
  const NodeChange change{holder, NewElements{{0, wanted}}, "an element", {node}};
  Bytes changed;
  try {
    changed = test::applied(image, file.change({&change, 1}));
  } catch (const Error&) {
    return;  // refused
  }
  const auto again = test::open_image(changed);
  const auto document = again->tree().open(holder);
  if (document == nullptr) __builtin_trap();
  const Bytes elements = document->reader()->elements(node);
  const Tensor tensor = document->tensor(node);
  if (element_value(tensor.type, elements.data()).as_double() != wanted) __builtin_trap();
}

void walk(const Tree& tree, std::size_t depth, std::size_t& opened) {
  for (NodeId node = 0; node < std::min<std::size_t>(tree.size(), most_seen); ++node) {
    static_cast<void>(test::seen(tree, node));
    if (depth == limits::max_nested_depth || opened == most_opened) continue;
    try {
      const auto document = tree.open(node);
      if (document == nullptr) continue;
      ++opened;
      walk(*document, depth + 1, opened);
    } catch (const Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes image = holding(std::as_bytes(std::span(data, size)));
  const auto file = test::open_image(image);
  std::size_t opened = 0;
  walk(file->tree(), 0, opened);
  try {  // what was walked may have used the budget up
    const NodeId holder = file->tree().find(file->tree().root, "a");
    const auto document = file->tree().open(holder);
    if (document == nullptr) return 0;
    for (NodeId node = 0; node < std::min<std::size_t>(document->size(), most_seen); ++node) {
      if (document->kind(node) != Kind::tensor || document->tensor(node).count() == 0) continue;
      change_first_element(image, *file, holder, node);
      break;
    }
  } catch (const Error&) {
  }
  return 0;
}
