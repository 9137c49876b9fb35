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

constexpr const char* new_key = "tare_fuzz";
constexpr std::int64_t new_number = 4096;

/// Powers of two: every element type that can hold them holds them exactly. Or another value in the old one's place, or
/// entries that a map lacks, or nothing.
NodeValue new_value(const Choice& choice) {
  switch (choice.kind % 6) {
    case 3:
      return NewDocument{{new_number}};
    case 4:
      return NewEntries{{{new_key, {new_number}}}};
    case 5:
      return Removal();
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

bool is_number_change(const NodeValue& value) {
  return std::holds_alternative<bool>(value) || std::holds_alternative<Integer>(value) ||
         std::holds_alternative<double>(value);
}

/// Any value of a map; for new entries, any map.
std::optional<NodeId> chosen_item(const Tree& tree, const Choice& choice, const NodeValue& value) {
  const std::vector<bool> is_seen = reached(tree);
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::map || !is_seen[node]) continue;
    if (std::holds_alternative<NewEntries>(value)) {
      if (tree.find(node, new_key) == nowhere) nodes.push_back(node);
      continue;
    }
    const auto pairs = tree.items(node);
    for (std::size_t i = 1; i < pairs.size(); i += 2) nodes.push_back(pairs[i]);
  }
  if (nodes.empty()) return std::nullopt;
  return nodes[choice.node % nodes.size()];
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

/// How many maps and how many of their items are reached: what an edit of items changes by one, and by no more.
struct Count {
  std::int64_t maps = 0, items = 0;
};

Count count_of(const Tree& tree) {
  Count count;
  const std::vector<bool> is_seen = reached(tree);
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::map || !is_seen[node]) continue;
    ++count.maps;
    count.items += static_cast<std::int64_t>(tree.items(node).size() / 2);
  }
  return count;
}

/// The maps and items of what goes, which nothing else holds then.
Count count_without(const Tree& tree, NodeId gone) {
  Count count;
  std::vector<bool> marked(tree.size());
  marked[gone] = true;
  std::vector<NodeId> pending = {tree.root};
  if (!marked[tree.root]) marked[tree.root] = true;
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (tree.kind(node) == Kind::map) {
      ++count.maps;
      count.items += static_cast<std::int64_t>(tree.items(node).size() / 2);
    }
    for (const auto below : {tree.items(node), tree.parts(node)}) {
      for (const NodeId child : below) {
        if (child == nowhere || marked[child]) continue;
        marked[child] = true;
        pending.push_back(child);
      }
    }
  }
  return count;
}

void check_items(const Bytes& image, const Container& before, const NodeChange& change, const FileChange& planned) {
  std::unique_ptr<Container> after;
  try {
    after = test::open_image(test::applied(image, planned));
  } catch (const Error& error) {
    fail(error.what());
  }
  Count wanted = count_of(before.tree());
  if (std::holds_alternative<NewEntries>(change.value)) {
    ++wanted.items;
  } else if (change.node != before.tree().root) {
    wanted = count_without(before.tree(), change.node);
    if (std::holds_alternative<Removal>(change.value)) --wanted.items;
  }
  const Count got = count_of(after->tree());
  if (got.maps != wanted.maps || got.items != wanted.items) fail("other items are left than should be");
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
    const bool is_number = is_number_change(change.value);
    const auto node = is_number ? chosen(before->tree(), choice) : chosen_item(before->tree(), choice, change.value);
    if (!node) return 0;
    change.node = *node;
    planned = before->change({&change, 1});
  } catch (const Error&) {
    return 0;  // Refused: nothing is planned.
  }
  is_number_change(change.value) ? check(image, *before, change, planned)
                                 : check_items(image, *before, change, planned);
  return 0;
}
