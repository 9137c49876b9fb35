// Elements of the tensors and arrays of real files, however they lie there: by rows or by columns, in strides, packed,
// in chunks, big-endian.
#include <filesystem>
#include <set>
#include <string>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_elements = 64;  // what `differing` looks at
constexpr std::size_t most_a_file = 6;

/// Files that are opened by themselves, and small.
std::vector<std::string> small_files() {
  constexpr std::uintmax_t most_bytes = 1 << 20;
  std::vector<std::string> files;
  const fs::path corpus = TARE_TEST_DATA "/corpus";
  for (const fs::directory_entry& framework : fs::directory_iterator(corpus)) {
    if (framework.path().filename() == "hostile") continue;  // has links that lead to themselves
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(framework)) {
      if (!entry.is_regular_file() || entry.file_size() > most_bytes) continue;
      files.push_back(fs::relative(entry.path(), corpus).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

/// What a reader is shown: not the pieces that a tensor is made of.
std::set<NodeId> shown(const Tree& tree) {
  std::set<NodeId> found;
  std::vector<NodeId> open{tree.root};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (node == nowhere || !found.insert(node).second) continue;
    if (tree.kind(node) == Kind::tensor || tree.kind(node) == Kind::array) continue;
    open.push_back(tree.fields(node));
    for (const NodeId item : tree.items(node)) open.push_back(item);
  }
  return found;
}

/// Tensors of several elements, one of each type and shape.
std::vector<NodeId> unlike_tensors(const Tree& tree) {
  std::vector<NodeId> found;
  std::set<std::string> known;
  for (const NodeId node : shown(tree)) {
    if (found.size() == most_a_file) break;
    if (tree.kind(node) != Kind::tensor && tree.kind(node) != Kind::array) continue;
    const Tensor tensor = tree.tensor(node);
    const std::uint64_t count = tensor.count();
    if (tensor.type.size == 0 || count < 2 || count > most_elements) continue;
    std::string strides;
    for (const std::int64_t stride : tensor.strides) strides += std::to_string(stride) + " ";
    if (known.insert(tensor.type_text() + strides).second) found.push_back(node);
  }
  return found;
}

/// What every type holds, and is not there yet.
double another(const Bytes& elements, std::uint64_t index, ElementType type) {
  const ByteView old = ByteView(elements).subspan(index * type.size, type.size);
  const Bytes one = element_bytes(type, 1, std::endian::little);
  return std::ranges::equal(old, one) ? 0 : 1;
}

struct Tally {
  std::size_t changed = 0;
  std::size_t refused = 0;
};

void change_one(const Bytes& image, const Container& before, NodeId node, std::uint64_t index, Tally& tally) {
  const Bytes old = before.tree().reader()->elements(node);
  const ElementType type = before.tree().tensor(node).type;
  const double value = another(old, index, type);
  const NodeChange change{node, NewElements{{index, value}}, "an element"};
  FileChange made;
  try {
    made = before.change({&change, 1});
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.status == Status::refused);
    ++tally.refused;
    return;
  }
  const auto after = open_image(applied(image, made));
  std::vector<NodeId> others = differing(before.tree(), after->tree());
  const std::set<NodeId> seen_by_readers = shown(before.tree());
  const NodeId checksum = node_at(before.tree(), {"__metadata__", "crc_num"});  // MindSpore's, which follows
  std::erase_if(others, [&](NodeId other) { return other == checksum || !seen_by_readers.contains(other); });
  CHECK(others == std::vector<NodeId>{node});
  Bytes wanted = old;
  std::ranges::copy(element_bytes(type, value, std::endian::little),
                    wanted.begin() + static_cast<std::ptrdiff_t>(index * type.size));
  CHECK(after->tree().reader()->elements(node) == wanted);
  ++tally.changed;
}

}  // namespace

TEST_CASE("any element of any tensor changes by itself, and no other value of its file does, or it is refused") {
  Tally tally;
  for (const std::string& file : small_files()) {
    INFO(file);
    const Bytes image = corpus_bytes(file);
    std::unique_ptr<Container> before;
    try {
      before = open_image(image);
    } catch (const Error&) {
      continue;  // no checkpoint by itself
    }
    for (const NodeId node : unlike_tensors(before->tree())) {
      const std::uint64_t count = before->tree().tensor(node).count();
      INFO(before->tree().tensor(node).type_text());
      for (const std::uint64_t index : std::set<std::uint64_t>{1, count / 2, count - 1}) {
        change_one(image, *before, node, index, tally);
      }
    }
  }
  CHECK(tally.changed > 500);
  CHECK(tally.refused < tally.changed / 10);
}
