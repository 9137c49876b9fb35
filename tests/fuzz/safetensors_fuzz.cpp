// Any bytes as safetensors: every tensor is read; each of the first is changed, emptied, made longer and taken out, and
// a fresh read finds the others as they were.
#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/container/safetensors/safetensors.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;

namespace {

constexpr std::size_t most_changed = 4;

using Held = std::tuple<std::string, std::vector<std::int64_t>, Bytes>;

std::unique_ptr<Container> open_bytes(const Bytes& bytes) {
  return open_safetensors(std::make_shared<MemorySource>("fuzz", bytes));
}

std::vector<NodeId> tensors_of(const Tree& tree) {
  std::vector<NodeId> tensors;
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) == Kind::tensor) tensors.push_back(node);
  }
  return tensors;
}

std::vector<Held> held(const Tree& tree) {
  std::vector<Held> all;
  for (const NodeId node : tensors_of(tree)) {
    const Tensor tensor = tree.tensor(node);
    all.emplace_back(tensor.type.name, tensor.shape, tree.reader()->elements(node));
  }
  return all;
}

void change(const Bytes& image, const Container& container, std::size_t number, const NodeValue& value) {
  const NodeChange change{tensors_of(container.tree())[number], value, "a value"};
  FileChange made;
  try {
    made = container.change({&change, 1});
  } catch (const Error&) {
    return;  // refused
  }
  const auto at = static_cast<std::ptrdiff_t>(number);
  std::vector<Held> before = held(container.tree());
  std::vector<Held> after = held(open_bytes(test::applied(image, made))->tree());
  before.erase(before.begin() + at);
  if (!std::holds_alternative<Removal>(value)) after.erase(after.begin() + at);
  if (before != after) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const Bytes image(bytes.begin(), bytes.end());
  std::unique_ptr<Container> container;
  std::size_t count = 0;
  try {
    container = open_bytes(image);
    count = held(container->tree()).size();
  } catch (const Error&) {
    return 0;
  }
  for (std::size_t number = 0; number < std::min(count, most_changed); ++number) {
    for (const NodeValue& value :
         {NodeValue(1.0), NodeValue(NewContents{}), NodeValue(NewContents{Bytes(100)}), NodeValue(Removal())}) {
      change(image, *container, number, value);
    }
  }
  return 0;
}
