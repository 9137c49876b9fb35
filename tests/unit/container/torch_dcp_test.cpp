// Distributed checkpoints as containers: every part read by range, changed in place where that can be, else appended.
#include "lib/container/torch/dcp.hpp"

#include <algorithm>
#include <map>

#include "lib/base/error.hpp"
#include "lib/container/kept_directory.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

/// A source that notes what is read of it.
class CountedSource final : public Source {
 public:
  CountedSource(std::string name, Bytes bytes) : inner_(std::move(name), std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return inner_.size(); }
  [[nodiscard]] const std::string& name() const override { return inner_.name(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    ++reads;
    bytes_read += to.size();
    inner_.read(offset, to);
  }
  using Source::read;

  mutable std::size_t reads = 0;
  mutable std::uint64_t bytes_read = 0;

 private:
  MemorySource inner_;
};

/// The files of a checkpoint in memory.
class Images final : public SourceFolder {
 public:
  Images(const std::string& corpus_folder, std::initializer_list<const char*> names) {
    for (const char* name : names) images[name] = corpus_bytes(corpus_folder + "/" + name);
  }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& name) const override {
    const auto found = images.find(name);
    if (found == images.end()) throw Error(Status::io, name + ": no such file");
    auto source = std::make_shared<CountedSource>(name, found->second);
    opened[name] = source;
    return source;
  }
  [[nodiscard]] bool has(const std::string& name) const override { return images.contains(name); }
  void apply(const Container& container, const std::vector<PartChange>& changes) {
    for (const PartChange& change : changes) {
      Bytes& image = images.at(container.parts()[change.part]);
      image = applied(image, change.change);
    }
  }

  std::map<std::string, Bytes> images;
  mutable std::map<std::string, std::shared_ptr<CountedSource>> opened;
};

DcpChoice beginning_with(std::string prefix) {
  return [prefix = std::move(prefix)](const DcpMetadata& metadata) {
    std::vector<bool> flags;
    for (const DcpItem& item : metadata.items) flags.push_back(item.key.starts_with(prefix));
    return flags;
  };
}

std::unique_ptr<Container> open(const Images& images, const DcpChoice& choose, const std::string& name = ".metadata") {
  return open_torch_dcp(std::shared_ptr<const SourceFolder>(&images, [](const SourceFolder*) {}), name, choose);
}

Value value_at(const Container& container, std::initializer_list<Step> steps) {
  return container.tree().value(node_at(container.tree(), steps), 16);
}

std::vector<std::string> changed_parts(const Container& container, const std::vector<PartChange>& changes) {
  std::vector<std::string> names;
  for (const PartChange& change : changes) names.push_back(container.parts()[change.part]);
  return names;
}

const std::string four_ranks = "torch/dcp-plain-4rank-t2.15/step_20";

Images four_rank_images() {
  return {four_ranks, {".metadata", "__0_0.distcp", "__1_0.distcp", "__2_0.distcp", "__3_0.distcp"}};
}

}  // namespace

TEST_CASE("keys split at their dots make the state dict again, and each value knows its file") {
  const Images images = four_rank_images();
  const auto container = open(images, beginning_with("scaler."));
  CHECK(container->format() == "torch_dcp");
  CHECK(container->findings().empty());
  CHECK(value_at(*container, {"scaler", "scale"}).as_double() == 16384.0);
  CHECK(value_at(*container, {"scaler", "scale"}).type == "float");
  CHECK(value_at(*container, {"scaler", "growth_interval"}).type == "int");
  const auto part = [&](std::string_view field) {
    return container->parts()[container->part_of(node_at(container->tree(), {"scaler", field}))];
  };
  CHECK(part("scale") == "__3_0.distcp");
  CHECK(part("growth_interval") == "__0_0.distcp");
}

TEST_CASE("nothing is read of files and items that were not asked for, and neighbours are read at once") {
  const Images images = four_rank_images();
  const auto container = open(images, beginning_with("scaler."));
  CHECK(images.opened.size() == 3);
  for (const char* name : {"__0_0.distcp", "__3_0.distcp"}) {
    INFO(name);
    CHECK(images.opened.at(name)->reads == 1);
    CHECK(images.opened.at(name)->bytes_read <= 3 * 1261);
  }
  CHECK(images.opened.at(".metadata")->bytes_read == images.images.at(".metadata").size());
}

TEST_CASE("a value of the same size changes in its item, with both checksums, and nothing moves") {
  Images images = four_rank_images();
  const auto container = open(images, beginning_with("scaler."));
  const NodeChange change{node_at(container->tree(), {"scaler", "scale"}), 4096.0, "scale"};
  const auto changes = container->change_parts({&change, 1});
  CHECK(changed_parts(*container, changes) == std::vector<std::string>{"__3_0.distcp"});
  CHECK_FALSE(changes[0].change.append.has_value());
  CHECK(changes[0].change.patches.size() == 3);
  images.apply(*container, changes);
  const auto again = open(images, beginning_with("scaler."));
  CHECK(again->findings().empty());
  CHECK(value_at(*again, {"scaler", "scale"}).as_double() == 4096.0);
}

TEST_CASE("what was read of the metadata opens the checkpoint again, over files that changed beside it") {
  Images images = four_rank_images();
  std::unique_ptr<Container> container = open(images, beginning_with("scaler."));
  const NodeChange change{node_at(container->tree(), {"scaler", "scale"}), 4096.0, "scale"};
  images.apply(*container, container->change_parts({&change, 1}));
  const auto directory = dynamic_cast<const WithDirectory&>(*container).directory();
  container.reset();
  images.opened.clear();
  const auto again = directory->open(images);
  CHECK_FALSE(images.opened.contains(".metadata"));
  CHECK(again->findings().empty());
  CHECK(value_at(*again, {"scaler", "scale"}).as_double() == 4096.0);
}

TEST_CASE("a value that grows is appended whole, and the metadata that points to it comes last, in one piece") {
  Images images = four_rank_images();
  const Images before = images;
  const auto container = open(images, beginning_with("scaler."));
  const NodeChange changes[] = {
      {node_at(container->tree(), {"scaler", "growth_interval"}), Integer{70000, {}}, "growth_interval"},
      {node_at(container->tree(), {"scaler", "_growth_tracker"}), Integer{300, {}}, "_growth_tracker"},
      {node_at(container->tree(), {"scaler", "backoff_factor"}), 0.25, "backoff_factor"}};
  const auto parts = container->change_parts(changes);
  CHECK(changed_parts(*container, parts) == std::vector<std::string>{"__0_0.distcp", "__3_0.distcp", ".metadata"});
  CHECK(parts.back().change.splice.has_value());
  images.apply(*container, parts);
  // The old items are as they were but for the patched factor: a reader with the old metadata finds the old values.
  Images old_view = images;
  old_view.images[".metadata"] = before.images.at(".metadata");
  const auto old_again = open(old_view, beginning_with("scaler."));
  CHECK(value_at(*old_again, {"scaler", "growth_interval"}).as_double() == 2000);
  CHECK(value_at(*old_again, {"scaler", "_growth_tracker"}).as_double() == 2);
  const auto again = open(images, [](const DcpMetadata& metadata) { return std::vector(metadata.items.size(), true); });
  CHECK(again->findings().empty());
  CHECK(value_at(*again, {"scaler", "growth_interval"}).as_double() == 70000);
  CHECK(value_at(*again, {"scaler", "_growth_tracker"}).as_double() == 300);
  CHECK(value_at(*again, {"scaler", "backoff_factor"}).as_double() == 0.25);
  CHECK(value_at(*again, {"scaler", "scale"}).as_double() == 16384.0);
  CHECK(value_at(*again, {"optim", "param_groups", "0", "lr"}).type == "float");
}

namespace {

std::vector<std::string> keys_in(const Images& images) {
  const auto metadata = read_dcp_metadata(MemorySource(".metadata", images.images.at(".metadata")));
  std::vector<std::string> keys;
  for (const DcpItem& item : metadata->items) keys.emplace_back(item.key);
  return keys;
}

}  // namespace

TEST_CASE("a key goes out of all that the metadata say of it, and no item moves") {
  for (const char protocol : {'4', '5'}) {  // what Python writes by itself
    INFO(protocol);
    Images images(std::string("torch/dcp-protocol") + protocol + "/step_20", {".metadata", "__0_0.distcp"});
    std::vector<std::string> keys = keys_in(images);
    const auto container = open(images, beginning_with("scaler."));
    const NodeChange change{node_at(container->tree(), {"scaler", "scale"}), Removal(), "scale"};
    const auto parts = container->change_parts({&change, 1});
    CHECK(changed_parts(*container, parts) == std::vector<std::string>{".metadata"});
    images.apply(*container, parts);
    CHECK(std::erase(keys, "scaler.scale") == 1);
    CHECK(keys_in(images) == keys);
    CHECK(as_text(images.images.at(".metadata")).find("scaler.scale") == std::string_view::npos);
    const auto again = open(images, beginning_with("scaler."));
    CHECK(value_at(*again, {"scaler", "growth_interval"}).type == "int");
    CHECK(again->tree().find(node_at(again->tree(), {"scaler"}), "scale") == nowhere);
  }
}

TEST_CASE("an object that Megatron keeps in a list of one goes with its key, and the plans of the save go with it") {
  Images images("transformer_engine/te2.20_megatron_dist/ckpt/iter_0000010", {".metadata", "__0_0.distcp"});
  const std::string key = "decoder.layers.mlp.linear_fc1._extra_state/shard_1_2";
  std::vector<std::string> keys = keys_in(images);
  const auto container = open(images, beginning_with(key));
  const NodeId list = node_at(container->tree(), {"decoder", "layers", "mlp", "linear_fc1", "_extra_state/shard_1_2"});
  const NodeChange change{container->tree().items(list)[0], Removal(), "extra state"};
  images.apply(*container, container->change_parts({&change, 1}));
  CHECK(std::erase(keys, key) == 1);
  CHECK(keys_in(images) == keys);
  const MemorySource source(".metadata", images.images.at(".metadata"));
  const auto metadata = read_dcp_metadata(source, DcpShapes::read);
  const Tree& tree = metadata->pickle.tree;
  CHECK(tree.find(tree.fields(tree.root), "all_local_plans") == nowhere);
  CHECK(tree.find(tree.find(tree.fields(tree.root), "state_dict_metadata"), key) == nowhere);
}

TEST_CASE("metadata of every pickle protocol is read and written") {
  for (const char protocol : {'0', '1', '2', '3', '4', '5'}) {
    INFO(protocol);
    Images images(std::string("torch/dcp-protocol") + protocol + "/step_20", {".metadata", "__0_0.distcp"});
    const auto container = open(images, beginning_with("scaler."));
    CHECK(value_at(*container, {"scaler", "_growth_tracker"}).as_double() == 2);
    const NodeChange change{node_at(container->tree(), {"scaler", "_growth_tracker"}), Integer{70000, {}}, "tracker"};
    images.apply(*container, container->change_parts({&change, 1}));
    const auto again = open(images, beginning_with("scaler."));
    CHECK(value_at(*again, {"scaler", "_growth_tracker"}).as_double() == 70000);
    CHECK(value_at(*again, {"scaler", "scale"}).as_double() == 16384.0);
  }
}

TEST_CASE("whole objects keep their own inside: lists, dicts and tensors of their records") {
  const Images images("megatron/dist_tp2/ckpt/iter_0000200", {".metadata", "__0_0.distcp", "__1_0.distcp"});
  const auto container = open(images, beginning_with("common_state/"));
  const auto scaler = {Step{"common_state/shard_0_1"}, Step{std::size_t{0}}, Step{"optimizer"}, Step{"grad_scaler"}};
  const NodeId node = node_at(container->tree(), scaler);
  REQUIRE(node != nowhere);
  const Value scale = container->tree().value(container->tree().find(node, "scale"), 1);
  CHECK(scale.type == "tensor:float32[1]");
  CHECK(scale.as_double() == 8388608.0);
}

TEST_CASE("dots in a shard's place split no key") {
  const Images images("megatron/dist_tp2/ckpt/iter_0000200", {".metadata", "__0_0.distcp", "__1_0.distcp"});
  const auto container = open(images, beginning_with("rng_state/"));
  CHECK(node_at(container->tree(), {"rng_state/shard_0.0_1.2"}) != nowhere);
  CHECK(node_at(container->tree(), {"rng_state/shard_0.1_1.2"}) != nowhere);
}

TEST_CASE("a tensor in a safetensors image is read and patched by its name") {
  Images images("torch/dcp-safetensors-tensors/step_20", {".metadata", "__0_0.distcp"});
  const auto container = open(images, beginning_with("scaler."));
  CHECK(container->findings().empty());
  CHECK(value_at(*container, {"scaler", "scale"}).type == "tensor:float32[]");
  CHECK(value_at(*container, {"scaler", "scale"}).as_double() == 16384.0);
  const NodeChange change{node_at(container->tree(), {"scaler", "growth_interval"}), Integer{70000, {}}, "interval"};
  const auto parts = container->change_parts({&change, 1});
  CHECK(changed_parts(*container, parts) == std::vector<std::string>{"__0_0.distcp"});
  images.apply(*container, parts);
  const auto again = open(images, beginning_with("scaler."));
  CHECK(value_at(*again, {"scaler", "growth_interval"}).as_double() == 70000);
  CHECK(value_at(*again, {"scaler", "growth_interval"}).type == "tensor:int32[]");
  CHECK(value_at(*again, {"scaler", "scale"}).as_double() == 16384.0);
}

TEST_CASE("items that were transformed, are cut short, or whose file is gone are told and left out") {
  SECTION("transformed") {
    const Images images("torch/dcp-transformed/step_20", {".metadata", "__0_0.distcp"});
    const auto container = open(images, beginning_with("scaler."));
    REQUIRE(container->findings().size() == 1);
    CHECK(container->findings()[0].severity == Severity::error);
    CHECK_THAT(container->findings()[0].message, Catch::Contains("stream.inverting/1") && Catch::Contains("4 more"));
    CHECK(node_at(container->tree(), {"scaler"}) == nowhere);
  }
  SECTION("cut short") {
    Images images = four_rank_images();
    images.images["__3_0.distcp"].resize(2000);
    const auto container = open(images, beginning_with("scaler."));
    CHECK_FALSE(container->findings().empty());
    CHECK(container->findings()[0].code == "item-not-read");
    CHECK(container->findings()[0].file == "__3_0.distcp");
    CHECK(value_at(*container, {"scaler", "growth_factor"}).as_double() == 2.0);
  }
  SECTION("gone") {
    Images images = four_rank_images();
    images.images.erase("__3_0.distcp");
    const auto container = open(images, beginning_with("scaler."));
    REQUIRE(container->findings().size() == 1);
    CHECK(container->findings()[0].code == "file-not-read");
    CHECK(container->findings()[0].file == "__3_0.distcp");
  }
}

TEST_CASE("metadata that is something else, or names no place, is refused") {
  Images images = four_rank_images();
  const auto status = [&](const Bytes& metadata) {
    images.images[".metadata"] = metadata;
    try {
      open(images, beginning_with("scaler."));
    } catch (const Error& error) {
      return error.status;
    }
    return Status::ok;
  };
  CHECK(status(bytes_of("")) == Status::corrupt);
  CHECK(status(bytes_of(std::string_view("\x80\x02}.", 4))) == Status::corrupt);
  CHECK(status(bytes_of("cos\nsystem\n(Vtrue\ntR.")) == Status::corrupt);
  CHECK(status(bytes_of("ctorch.distributed.checkpoint.metadata\nMetadata\n)\x81}b.")) == Status::corrupt);
}

TEST_CASE("an item that is listed twice is told, and the last one is shown, as torch has it") {
  Images images = four_rank_images();
  std::string text(as_text(images.images.at(".metadata")));
  // The entry of the interval takes the tracker's name, which comes again later.
  const std::string interval = "scaler.growth_interval";
  const std::string tracker = "scaler._growth_tracker";
  REQUIRE(interval.size() == tracker.size());
  text.replace(text.find(interval, text.find("storage_data")), interval.size(), tracker);
  images.images[".metadata"] = bytes_of(text);
  const auto container = open(images, beginning_with("scaler."));
  REQUIRE(container->findings().size() == 1);
  CHECK(container->findings()[0].code == "item-not-read");
  CHECK(container->findings()[0].path == tracker);
  CHECK_THAT(container->findings()[0].message, Catch::StartsWith("is listed twice"));
  CHECK(value_at(*container, {"scaler", "_growth_tracker"}).as_double() == 2);
  CHECK(node_at(container->tree(), {"scaler", "growth_interval"}) == nowhere);
}

TEST_CASE("an item that shares its bytes with another one is not changed") {
  Images images = four_rank_images();
  const auto container = open(images, [](const DcpMetadata& metadata) {
    std::vector<bool> flags;
    for (const DcpItem& item : metadata.items) flags.push_back(item.key == "scaler.scale");
    return flags;
  });
  const NodeChange change{node_at(container->tree(), {"scaler", "scale"}), 4096.0, "scale"};
  CHECK_NOTHROW(container->change_parts({&change, 1}));
  // Where the metadata says that the scale is, it says that the back-off factor is, too.
  std::string text(as_text(images.images.at(".metadata")));
  const MemorySource source(".metadata", images.images.at(".metadata"));
  const auto metadata = read_dcp_metadata(source, DcpShapes::read);
  const auto place = [&](std::string_view key) {
    const auto item =
        std::find_if(metadata->items.begin(), metadata->items.end(), [&](const DcpItem& i) { return i.key == key; });
    const auto index = static_cast<std::size_t>(item - metadata->items.begin());
    return metadata->pickle.tree.span(metadata->nodes[index].offset);
  };
  const Span from = place("scaler.scale");
  const Span to = place("scaler.backoff_factor");
  REQUIRE(from.size == to.size);
  text.replace(to.offset, to.size, text.substr(from.offset, from.size));
  images.images[".metadata"] = bytes_of(text);
  const auto twins = open(images, beginning_with("scaler.scale"));
  const NodeChange shared{node_at(twins->tree(), {"scaler", "scale"}), 4096.0, "scale"};
  CHECK_THROWS_WITH(twins->change_parts({&shared, 1}), Catch::Contains("stored in the same bytes"));
}

TEST_CASE("where items are is read alike whether tensors' shapes are read or stepped over") {
  const Images images = four_rank_images();
  const MemorySource source(".metadata", images.images.at(".metadata"));
  const auto without_shapes = read_dcp_metadata(source);
  const auto whole = read_dcp_metadata(source, DcpShapes::read);
  CHECK(without_shapes->files == whole->files);
  REQUIRE(without_shapes->items.size() == whole->items.size());
  for (std::size_t i = 0; i < whole->items.size(); ++i) {
    CHECK(without_shapes->items[i].key == whole->items[i].key);
    CHECK(without_shapes->items[i].file == whole->items[i].file);
    CHECK(without_shapes->items[i].is_tensor == whole->items[i].is_tensor);
    CHECK(without_shapes->items[i].place.offset == whole->items[i].place.offset);
    CHECK(without_shapes->items[i].place.size == whole->items[i].place.size);
  }
  // A tensor's shape is some twenty values, of which one is left.
  CHECK(without_shapes->pickle.tree.size() < whole->pickle.tree.size() * 2 / 3);
}

TEST_CASE("Megatron's plans, which refer to what is stepped over, are stepped over, too") {
  for (const char* folder : {"megatron/dist_tp2/ckpt/iter_0000200", "megatron/dist_moe_chained/ckpt/iter_0000002"}) {
    INFO(folder);
    const Images images(folder, {".metadata"});
    const MemorySource source(".metadata", images.images.at(".metadata"));
    const auto without_shapes = read_dcp_metadata(source);
    const auto whole = read_dcp_metadata(source, DcpShapes::read);
    REQUIRE(without_shapes->items.size() == whole->items.size());
    for (std::size_t i = 0; i < whole->items.size(); ++i) {
      CHECK(without_shapes->items[i].key == whole->items[i].key);
      CHECK(without_shapes->items[i].place.offset == whole->items[i].place.offset);
    }
    CHECK(without_shapes->pickle.tree.size() < whole->pickle.tree.size() / 2);
  }
}

TEST_CASE("items that overlap, or are compressed, are refused: they could ask for any amount of work") {
  Images images = four_rank_images();
  const MemorySource source(".metadata", images.images.at(".metadata"));
  const auto metadata = read_dcp_metadata(source, DcpShapes::read);
  const Tree& tree = metadata->pickle.tree;
  std::string text(as_text(images.images.at(".metadata")));
  // Every item of the scaler is said to be as long as its file.
  for (std::size_t i = 0; i < metadata->items.size(); ++i) {
    const DcpItem& item = metadata->items[i];
    const Span length = tree.span(metadata->nodes[i].length);
    const std::uint64_t left = images.images.at(metadata->files[item.file]).size() - item.place.offset;
    if (!item.key.starts_with("scaler.") || length.size != 3) continue;
    text[length.offset + 1] = static_cast<char>(left & 0xff);
    text[length.offset + 2] = static_cast<char>(left >> 8);
  }
  images.images[".metadata"] = bytes_of(text);
  const auto container = open(images, beginning_with("scaler."));
  REQUIRE_FALSE(container->findings().empty());
  for (const Finding& finding : container->findings()) {
    CHECK(finding.code == "file-not-read");
    CHECK_THAT(finding.message, Catch::Contains("more bytes than the file"));
  }
}
