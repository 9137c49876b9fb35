// Any file and any edit of one value: after the change a fresh read gives the new value, and everything else as before.
// The last bytes of the input choose the value; what stands before them is the file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "lib/base/error.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;

namespace {

struct Choice {
  std::uint16_t node;
  std::uint8_t kind;
  std::int8_t number;
};
constexpr std::size_t choice_size = 4;

Choice read_choice(ByteView bytes) {
  return {load_le<std::uint16_t>(bytes.data()), load_le<std::uint8_t>(bytes.data() + 2),
          load_le<std::int8_t>(bytes.data() + 3)};
}

/// Powers of two: every element type that can hold them holds them exactly.
NodeValue new_value(const Choice& choice) {
  switch (choice.kind % 3) {
    case 0:
      return choice.number % 2 != 0;
    case 1:
      return Integer{(std::int64_t{1} << (std::abs(choice.number) % 63)) + (choice.number < 0 ? -1 : 0), {}};
    default:
      return std::ldexp(choice.number % 2 == 0 ? 1.0 : -1.0, choice.number);
  }
}

bool is_number(Kind kind) {
  return kind == Kind::boolean || kind == Kind::integer || kind == Kind::floating || kind == Kind::tensor ||
         kind == Kind::array;
}

/// Marks what is reached from `from`, itself left out.
void mark_below(const Tree& tree, NodeId from, std::vector<bool>& marked) {
  std::vector<NodeId> pending = {from};
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    for (const auto below : {tree.items(node), tree.parts(node)}) {
      for (const NodeId child : below) {
        if (child == nowhere || marked[child]) continue;
        marked[child] = true;
        pending.push_back(child);
      }
    }
  }
}

/// What the root leads to: neither what was popped nor what a later setting of the same key replaced.
std::vector<bool> reached(const Tree& tree) {
  std::vector<bool> marked(tree.size());
  mark_below(tree, tree.root, marked);
  marked[tree.root] = true;
  return marked;
}

/// Values that say where tensors are and how large, and keys: an edit of those changes more than a value.
std::vector<bool> describing(const Tree& tree) {
  std::vector<bool> marked(tree.size());
  for (NodeId node = 0; node < tree.size(); ++node) {
    const Kind kind = tree.kind(node);
    const bool is_storage = kind == Kind::opaque && tree.callee(node) == nowhere;
    if (kind == Kind::tensor || kind == Kind::array || is_storage) mark_below(tree, node, marked);
    if (kind != Kind::map) continue;
    const auto pairs = tree.items(node);
    for (std::size_t i = 0; i < pairs.size(); i += 2) marked[pairs[i]] = true;
  }
  return marked;
}

std::optional<NodeId> chosen(const Tree& tree, const Choice& choice) {
  const std::vector<bool> left_out = describing(tree);
  const std::vector<bool> is_seen = reached(tree);
  std::vector<NodeId> numbers;
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (is_number(tree.kind(node)) && is_seen[node] && !left_out[node]) numbers.push_back(node);
  }
  if (numbers.empty()) return std::nullopt;
  return numbers[choice.node % numbers.size()];
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "edit_fuzz: %s\n", what);
  __builtin_trap();
}

bool holds(const Tree& tree, NodeId node, const NodeValue& wanted) {
  const Value value = tree.value(node, 64);
  const Value* number = value.number();
  if (number == nullptr) return false;
  if (const auto* whole = std::get_if<Integer>(&wanted)) {
    if (const auto* got = std::get_if<Integer>(&number->data)) return *got == *whole;
    return number->as_double() == whole->as_double();
  }
  const double as_number =
      std::holds_alternative<bool>(wanted) ? static_cast<double>(std::get<bool>(wanted)) : std::get<double>(wanted);
  return number->as_double() == as_number;
}

void check(const Bytes& image, const Container& before, const NodeChange& change, const FileChange& planned) {
  std::unique_ptr<Container> after;
  try {
    after = test::open_image(test::applied(image, planned));
  } catch (const Error& error) {
    fail(error.what());
  }
  if (!holds(after->tree(), change.node, change.value)) fail("the new value is not there");
  const Tree& tree = before.tree();
  // An array's elements stand in a node of their own; text that stands for bytes is not even part of the value.
  std::vector<bool> may_differ(tree.size());
  if (tree.kind(change.node) == Kind::array) mark_below(tree, change.node, may_differ);
  may_differ[change.node] = true;
  const std::vector<bool> is_seen = reached(tree);
  for (const NodeId node : test::differing(tree, after->tree())) {
    if (is_seen[node] && !may_differ[node]) fail("another value changed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < choice_size) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const Choice choice = read_choice(bytes.last(choice_size));
  const ByteView file = bytes.first(size - choice_size);
  const Bytes image(file.begin(), file.end());
  std::unique_ptr<Container> before;
  NodeChange change{nowhere, new_value(choice), "fuzz"};
  FileChange planned;
  try {
    before = test::open_image(image);
    const auto node = chosen(before->tree(), choice);
    if (!node) return 0;
    change.node = *node;
    planned = before->change({&change, 1});
  } catch (const Error&) {
    return 0;  // Refused: nothing is planned.
  }
  check(image, *before, change, planned);
  return 0;
}
