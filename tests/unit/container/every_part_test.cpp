// Values of real checkpoints of several files, a few of each: one of them changes, with what says where it is and what
// vouches for it, and no other value does.
#include <filesystem>
#include <functional>
#include <string>

#include "lib/container/orbax/ocdbt_item.hpp"
#include "lib/container/orbax/zarr_item.hpp"
#include "lib/container/tensorflow/tensor_bundle.hpp"
#include "lib/container/torch/dcp.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/container/every_value.hpp"
#include "tests/unit/container/memory_folder.hpp"

using namespace tare;
using namespace tare::test;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> all_names(const std::vector<std::string>& names) {
  return names;
}

/// With all that is in it; null for a file that no checkpoint is opened by.
std::unique_ptr<Container> open_whole(const std::shared_ptr<MemoryFolder>& folder, const std::string& name) {
  if (name == ".metadata") {
    return open_torch_dcp(folder, name,
                          [](const DcpMetadata& metadata) { return std::vector<bool>(metadata.items.size(), true); });
  }
  if (name.ends_with(".index")) {
    return open_tensor_bundle(folder, name,
                              [](const BundleIndex& index) { return std::vector<bool>(index.items.size(), true); });
  }
  if (name == ocdbt_manifest_name) return open_orbax_ocdbt(folder, name, all_names);
  if (name == "_METADATA" && !folder->has(ocdbt_manifest_name)) return open_orbax_zarr(folder, name, all_names);
  return nullptr;
}

bool is_small(const fs::path& folder) {
  constexpr std::uintmax_t most_bytes = 4 << 20;
  std::uintmax_t size = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) size += entry.file_size();
  }
  return size <= most_bytes;
}

/// Calls `look` with the folder of each checkpoint, and the file that it is opened by.
void for_each_whole(const std::function<void(const std::string& folder, const std::string& name)>& look) {
  const fs::path corpus = TARE_TEST_DATA "/corpus";
  for (const fs::directory_entry& framework : fs::directory_iterator(corpus)) {
    if (framework.path().filename() == "hostile") continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(framework)) {
      const std::string name = entry.path().filename().string();
      const bool opens =
          name == ".metadata" || name.ends_with(".index") || name == ocdbt_manifest_name || name == "_METADATA";
      if (!opens || !entry.is_regular_file() || !is_small(entry.path().parent_path())) continue;
      look(fs::relative(entry.path().parent_path(), corpus).string(), name);
    }
  }
}

/// The checkpoint with the change, opened anew; null where it is refused.
std::unique_ptr<Container> changed(const MemoryFolder& images, const std::string& name, const Container& before,
                                   const NodeChange& change, Tally& tally) {
  const auto after = std::make_shared<MemoryFolder>();
  after->images = images.images;
  try {
    after->apply(before, before.change_parts({&change, 1}));
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.status == Status::refused);
    ++tally.refused;
    return nullptr;
  }
  ++tally.changed;
  return open_whole(after, name);
}

void require_only(const Container& before, const Container& after, NodeId node, NodeId now) {
  CHECK(after.findings().size() == before.findings().size());
  CHECK(parting(told(after.tree(), after.tree().root, now), told(before.tree(), before.tree().root, node)) == "");
}

}  // namespace

TEST_CASE("elements and numbers of real checkpoints of several files change by themselves, or that is refused") {
  Tally tally;
  for_each_whole([&](const std::string& name_of_folder, const std::string& name) {
    const auto folder = MemoryFolder::of_corpus(name_of_folder);
    const auto before = open_whole(folder, name);
    if (before == nullptr) return;
    INFO(name_of_folder);
    const Tree& tree = before->tree();
    for (const NodeId node : unlike_tensors(tree, 1)) {
      const ElementType type = tree.tensor(node).type;
      const std::uint64_t last = tree.tensor(node).count() - 1;
      const Bytes old = tree.reader()->elements(node);
      INFO(tree.tensor(node).type_text());
      const double value = another(old, last, type);
      const auto after = changed(*folder, name, *before, {node, NewElements{{last, value}}, "an element"}, tally);
      if (after == nullptr) continue;
      const NodeId now = at(after->tree(), *way_to(tree, node));
      require_only(*before, *after, node, now);
      Bytes wanted = old;
      std::ranges::copy(element_bytes(type, value, std::endian::little),
                        wanted.begin() + static_cast<std::ptrdiff_t>(last * type.size));
      CHECK(after->tree().reader()->elements(now) == wanted);
    }
    for (const NodeId node : some_numbers(tree, 4)) {
      for (const NodeValue& value : other_numbers(tree, node)) {
        const auto after = changed(*folder, name, *before, {node, value, "a number"}, tally);
        if (after == nullptr) continue;
        const NodeId now = at(after->tree(), *way_to(tree, node));
        require_only(*before, *after, node, now);
        CHECK(after->tree().value(now, 1).as_double() == as_double(number_of({node, value, ""})));
      }
    }
  });
  INFO(tally.changed << " changed, " << tally.refused << " refused");
  CHECK(tally.changed > 200);
  CHECK(tally.refused < tally.changed / 4);
}
