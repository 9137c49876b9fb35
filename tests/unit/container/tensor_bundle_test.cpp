// TensorFlow's checkpoints: what is read of them, and that an edit is the value and its checksums.
#include <algorithm>

#include "lib/container/tensorflow/tensor_bundle.hpp"

#include "lib/base/bytes.hpp"
#include "lib/base/crc32c.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/container/memory_folder.hpp"

namespace tare {
namespace {

using test::MemoryFolder;
using test::node_at;

BundleChoice ending_with(std::initializer_list<std::string_view> endings) {
  return [list = std::vector<std::string_view>(endings)](const BundleIndex& index) {
    std::vector<bool> flags;
    for (const BundleItem& item : index.items) {
      flags.push_back(std::any_of(list.begin(), list.end(), [&](auto e) { return item.key.ends_with(e); }));
    }
    return flags;
  };
}

const BundleChoice scale_and_steps = ending_with({"loss_scale", "good_steps", "dynamic_scale", "step_counter"});

Status status_of(const std::shared_ptr<MemoryFolder>& folder, const std::string& name) {
  return test::status_of([&] { open_tensor_bundle(folder, name, scale_and_steps); });
}

std::shared_ptr<MemoryFolder> hostile(std::string_view name) {
  return MemoryFolder::of_corpus("hostile/" + std::string(name));
}

/// Seals a block of the index after a change to it.
void seal(Bytes& index, Span block) {
  const std::uint32_t crc = masked_crc32c(ByteView(index).subspan(block.offset, block.size));
  Bytes bytes;
  append_le(bytes, crc);
  std::copy(bytes.begin(), bytes.end(), index.begin() + static_cast<std::ptrdiff_t>(block.end()));
}

}  // namespace

TEST_CASE("variables of an object graph and of a saver are found under their names' parts") {
  const auto keras = MemoryFolder::of_corpus("tensorflow/checkpoint_keras3/ckpt");
  const auto opened = open_tensor_bundle(keras, "ckpt-7.index", scale_and_steps);
  const Tree& tree = opened->tree();
  CHECK(opened->findings().empty());
  CHECK(tree.value(node_at(tree, {"optimizer", "dynamic_scale"}), 1).as_double() == 1024);
  CHECK(tree.value(node_at(tree, {"optimizer", "step_counter"}), 1).type == "tensor:int64[]");
  const auto contrib = MemoryFolder::of_corpus("tensorflow/saver_contrib");
  const auto saved = open_tensor_bundle(contrib, "model.ckpt-5.index", scale_and_steps);
  const NodeId scale = node_at(saved->tree(), {"loss_scale_manager", "loss_scale"});
  CHECK(saved->tree().value(scale, 1).as_double() == 838860.8125);
}

TEST_CASE("only the data files with chosen variables are opened") {
  const auto sharded = MemoryFolder::of_corpus("tensorflow/saver_tf1_sharded");
  const auto opened = open_tensor_bundle(sharded, "model.ckpt-2.index", scale_and_steps);
  CHECK(sharded->opened == std::set<std::string>{"model.ckpt-2.index", "model.ckpt-2.data-00001-of-00002"});
  const NodeId scale = node_at(opened->tree(), {"tower", "loss_scale", "current_loss_scale"});
  REQUIRE(scale != nowhere);
  CHECK(opened->parts()[opened->part_of(scale)] == "model.ckpt-2.data-00001-of-00002");
}

TEST_CASE("an edit is the value, its checksum and that of its block, at their old sizes") {
  const auto folder = MemoryFolder::of_corpus("tensorflow/savedmodel/saved/variables");
  const auto before = folder->images;
  const auto opened = open_tensor_bundle(folder, "variables.index", scale_and_steps);
  const NodeId scale = node_at(opened->tree(), {"optimizer", "loss_scale", "current_loss_scale"});
  folder->apply(*opened, opened->change_parts(std::vector<NodeChange>{{scale, 4096.0, "scale"}}));
  CHECK(test::changed_offsets(before.at("variables.index"), folder->images.at("variables.index")).size() <= 8);
  const std::string data = "variables.data-00000-of-00001";
  CHECK(test::changed_offsets(before.at(data), folder->images.at(data)).size() <= 4);

  const auto after = open_tensor_bundle(folder, "variables.index", scale_and_steps);
  CHECK(after->findings().empty());
  CHECK(test::differing(opened->tree(), after->tree()) == std::vector<NodeId>{scale});
  CHECK(after->tree().value(scale, 1).as_double() == 4096);
}

TEST_CASE("a number that the variable's type cannot hold is refused") {
  const auto folder = MemoryFolder::of_corpus("tensorflow/checkpoint_v3/ckpt");
  const auto opened = open_tensor_bundle(folder, "ckpt-4.index", scale_and_steps);
  const NodeId scale = node_at(opened->tree(), {"optimizer", "loss_scale", "current_loss_scale"});
  const NodeId steps = node_at(opened->tree(), {"optimizer", "loss_scale", "good_steps"});
  CHECK_THROWS_AS(opened->change_parts(std::vector<NodeChange>{{scale, 1e300, "scale"}}), Error);
  CHECK_THROWS_AS(opened->change_parts(std::vector<NodeChange>{{steps, 0.5, "steps"}}), Error);
  CHECK_THROWS_AS(opened->change_parts(std::vector<NodeChange>{{opened->tree().root, Removal(), "all"}}), Error);
}

TEST_CASE("damage is told: of the index it refuses all, of a data file what stands there") {
  CHECK(status_of(hostile("tfbundle_footer"), "model.index") == Status::corrupt);
  CHECK(status_of(hostile("tfbundle_index_crc"), "model.index") == Status::corrupt);
  CHECK(status_of(hostile("tfbundle_truncated"), "model.index") == Status::corrupt);
  CHECK(status_of(hostile("tfbundle_wrong_block"), "model.index") == Status::corrupt);

  const auto changed = hostile("tfbundle_data_crc");
  const auto all = [](const BundleIndex& index) { return std::vector<bool>(index.items.size(), true); };
  const auto opened = open_tensor_bundle(changed, "model.index", all);
  REQUIRE(!opened->findings().empty());
  CHECK(opened->findings()[0].code == "crc-mismatch");
  for (const char* name : {"tfbundle_no_data", "tfbundle_short_data"}) {
    INFO(name);
    const auto torn = open_tensor_bundle(hostile(name), "model.index", all);
    REQUIRE(!torn->findings().empty());
    CHECK(torn->findings()[0].severity == Severity::error);
  }
}

TEST_CASE("a value whose checksum does not hold is shown and not edited") {
  const auto folder = MemoryFolder::of_corpus("tensorflow/checkpoint_v3/ckpt");
  const auto sound = open_tensor_bundle(folder, "ckpt-4.index", scale_and_steps);
  const NodeId scale = node_at(sound->tree(), {"optimizer", "loss_scale", "current_loss_scale"});
  const auto parts = sound->change_parts(std::vector<NodeChange>{{scale, 4096.0, "scale"}});
  for (const PartChange& part : parts) {
    if (part.part == 0) continue;  // the data alone, as a program without tare would write it
    Bytes& image = folder->images.at(sound->parts()[part.part]);
    image = test::applied(image, part.change);
  }
  const auto opened = open_tensor_bundle(folder, "ckpt-4.index", scale_and_steps);
  CHECK(opened->tree().value(scale, 1).as_double() == 4096);
  REQUIRE(opened->findings().size() == 1);
  CHECK(opened->findings()[0].code == "crc-mismatch");
  CHECK_THROWS_AS(opened->change_parts(std::vector<NodeChange>{{scale, 1.0, "scale"}}), Error);
}

TEST_CASE("an index that contradicts itself is refused whatever its checksums say") {
  const auto folder = MemoryFolder::of_corpus("tensorflow/checkpoint_v3/ckpt");
  const Bytes good = folder->images.at("ckpt-4.index");
  const LeveldbTable table = read_leveldb_table(MemorySource("good", good));
  REQUIRE(table.blocks.size() == 1);
  const Span block = table.blocks[0];
  Bytes& image = folder->images.at("ckpt-4.index");
  const auto with = [&](std::uint64_t offset, int value) {
    image = good;
    image[offset] = static_cast<std::byte>(value);
    seal(image, block);
    return status_of(folder, "ckpt-4.index");
  };
  CHECK(with(block.offset, 9) == Status::corrupt);         // the first key shares what is not there
  CHECK(with(block.offset + 2, 0xff) == Status::corrupt);  // a value that passes its block
  CHECK(with(block.end() - 1, 1) == Status::unsupported);  // compressed
  CHECK(with(block.end() - 2, 0xff) == Status::corrupt);   // more restart points than bytes
  const Span header = table.rows[0].value;
  CHECK(with(header.offset + 1, 0) == Status::corrupt);  // no data files, and variables in them
  image = good;
  CHECK(status_of(folder, "ckpt-4.index") == Status::ok);
}

}  // namespace tare
