// Values of real files, a few of each, however they lie there: one of them changes, or goes, and nothing else that a
// reader is shown does (of tensors up to 64 elements). Elements in strides, packed, in chunks; numbers that take fewer
// bytes or more; items whose memo slots are fetched later.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/container/every_value.hpp"

using namespace tare;
using namespace tare::test;

namespace {

namespace fs = std::filesystem;

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

/// The file with the change; nothing where that is refused.
std::optional<Bytes> changed(const Bytes& image, const Container& container, const NodeChange& change, Tally& tally) {
  try {
    Bytes after = applied(image, container.change({&change, 1}));
    ++tally.changed;
    return after;
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.status == Status::refused);
    ++tally.refused;
    return std::nullopt;
  }
}

void require_only(NodeId node, const Container& before, const Container& after) {
  std::vector<NodeId> others = differing(before.tree(), after.tree());
  const std::set<NodeId> seen_by_readers = shown(before.tree());
  const NodeId checksum = node_at(before.tree(), {"__metadata__", "crc_num"});  // MindSpore's, which follows
  std::erase_if(others, [&](NodeId other) { return other == checksum || !seen_by_readers.contains(other); });
  CHECK(others == std::vector<NodeId>{node});
}

void change_element(const Bytes& image, const Container& before, NodeId node, std::uint64_t index, Tally& tally) {
  const Bytes old = before.tree().reader()->elements(node);
  const ElementType type = before.tree().tensor(node).type;
  const double value = another(old, index, type);
  const auto with_it = changed(image, before, {node, NewElements{{index, value}}, "an element"}, tally);
  if (!with_it) return;
  const auto after = open_image(*with_it);
  require_only(node, before, *after);
  Bytes wanted = old;
  std::ranges::copy(element_bytes(type, value, std::endian::little),
                    wanted.begin() + static_cast<std::ptrdiff_t>(index * type.size));
  CHECK(after->tree().reader()->elements(node) == wanted);
}

/// Values of maps, `most` of them, spread over the file.
std::vector<NodeId> some_items(const Tree& tree, std::size_t most) {
  std::vector<NodeId> all;
  for (const NodeId node : shown(tree)) {
    if (tree.kind(node) != Kind::map) continue;
    for (std::size_t i = 1; i < tree.items(node).size(); i += 2) all.push_back(tree.items(node)[i]);
  }
  return spread(all, most);
}

/// Calls `look` with each small file that is a checkpoint by itself.
template <typename Look>
void for_each_checkpoint(const Look& look) {
  for (const std::string& file : small_files()) {
    INFO(file);
    const Bytes image = corpus_bytes(file);
    std::unique_ptr<Container> container;
    try {
      container = open_image(image);
    } catch (const Error&) {
      continue;
    }
    look(image, *container);
  }
}

}  // namespace

TEST_CASE(
    "elements of real files' tensors change by themselves, and no other value of the file does, or that is refused") {
  Tally tally;
  for_each_checkpoint([&](const Bytes& image, const Container& before) {
    for (const NodeId node : unlike_tensors(before.tree(), 2)) {
      const std::uint64_t count = before.tree().tensor(node).count();
      INFO(before.tree().tensor(node).type_text());
      for (const std::uint64_t index : std::set<std::uint64_t>{1, count / 2, count - 1}) {
        change_element(image, before, node, index, tally);
      }
    }
  });
  CHECK(tally.changed > 500);
  CHECK(tally.refused < tally.changed / 10);
}

TEST_CASE("numbers of real files change by themselves, to shorter and longer ones, or that is refused") {
  Tally tally;
  for_each_checkpoint([&](const Bytes& image, const Container& before) {
    for (const NodeId node : some_numbers(before.tree(), 4)) {
      for (const NodeValue& value : other_numbers(before.tree(), node)) {
        const auto with_it = changed(image, before, {node, value, "a number"}, tally);
        if (!with_it) continue;
        const auto after = open_image(*with_it);
        const NodeId now = at(after->tree(), *way_to(before.tree(), node));  // a tensor beside it may have other nodes
        CHECK(after->tree().value(now, 1).as_double() == as_double(number_of({node, value, ""})));
        CHECK(parting(told(after->tree(), after->tree().root, now), told(before.tree(), before.tree().root, node)) ==
              "");
      }
    }
  });
  INFO(tally.changed << " changed, " << tally.refused << " refused");
  CHECK(tally.changed > 500);
}

TEST_CASE("items of real files' maps go, with their keys, and all else stays as it was, or that is refused") {
  Tally tally;
  for_each_checkpoint([&](const Bytes& image, const Container& before) {
    for (const NodeId node : some_items(before.tree(), 4)) {
      const auto without = changed(image, before, {node, Removal{}, "an item"}, tally);
      if (!without) continue;
      const auto after = open_image(*without);
      CHECK(parting(told(after->tree(), after->tree().root, nowhere), told(before.tree(), before.tree().root, node)) ==
            "");
    }
  });
  INFO(tally.changed << " went, " << tally.refused << " refused");
  CHECK(tally.changed > 200);
}

TEST_CASE(
    "values of real files' maps become a number, a map, a tensor, and all else stays as it was, or that is refused") {
  const DocumentTensor tensor{
      element_type("float32"), {}, element_bytes(element_type("float32"), 8, std::endian::little)};
  Tally tally;
  for_each_checkpoint([&](const Bytes& image, const Container& before) {
    for (const NodeId node : some_items(before.tree(), 4)) {
      for (const Document& document :
           {Document{2.5}, Document{DocumentMap{{"scale", {std::int64_t{3}}}}}, Document{tensor}}) {
        const auto with_it = changed(image, before, {node, NewDocument{document}, "a value"}, tally);
        if (!with_it) continue;
        const auto after = open_image(*with_it);
        const NodeId now = at(after->tree(), *way_to(before.tree(), node));
        CHECK(parting(told(after->tree(), after->tree().root, now), told(before.tree(), before.tree().root, node)) ==
              "");
        const NodeId inside =
            std::holds_alternative<DocumentMap>(document.value) ? after->tree().find(now, "scale") : now;
        REQUIRE(inside != nowhere);
        const double wanted = std::holds_alternative<double>(document.value) ? 2.5 : inside == now ? 8 : 3;
        CHECK(after->tree().value(inside, 1).as_double() == wanted);
      }
    }
  });
  INFO(tally.changed << " became another, " << tally.refused << " refused");
  CHECK(tally.changed > 500);
}
