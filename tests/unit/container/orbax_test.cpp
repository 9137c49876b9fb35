// Orbax's items: arrays in folders (zarr 2 and 3) and in a database (OCDBT), read and edited.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/base/crc32c.hpp"
#include "lib/container/orbax/ocdbt_item.hpp"
#include "lib/container/orbax/ocdbt_manifest.hpp"
#include "lib/container/orbax/ocdbt_tree.hpp"
#include "lib/container/orbax/zarr.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/container/memory_folder.hpp"

namespace tare {
namespace {

using namespace std::string_view_literals;
using test::MemoryFolder;
using test::node_at;

/// The arrays whose names begin so.
ArrayChoice beginning_with(std::string beginning) {
  return [beginning = std::move(beginning)](const std::vector<std::string>& names) {
    std::vector<std::string> chosen;
    std::copy_if(names.begin(), names.end(), std::back_inserter(chosen),
                 [&](const std::string& name) { return name.starts_with(beginning); });
    return chosen;
  };
}

const ArrayChoice the_scale = beginning_with("dynamic_scale.");
const ArrayChoice every_array = beginning_with("");

std::unique_ptr<Container> open_item(const std::shared_ptr<MemoryFolder>& item, const ArrayChoice& choose) {
  return item->has(ocdbt_manifest_name) ? open_orbax_ocdbt(item, ocdbt_manifest_name, choose)
                                        : open_orbax_zarr(item, "_METADATA", choose);
}

struct Item {
  std::string folder;
  double scale;
  std::string type;
};

const Item items[] = {
    {"flax/orbax_zarr/run/10/default", 150, "numpy:float32[]"},
    {"flax/orbax_zarr3/run/4/default", 32768, "numpy:float32[]"},
    {"flax/orbax_ocdbt/run/2/default", 32768, "numpy:float32[]"},
    {"flax/orbax_ocdbt_deep/run/2/default", 32768, "numpy:float32[]"},
    {"flax/orbax_fresh_numbers/run/0/default", 65536, "float"},
};

NodeId scale_of(const Container& container) {
  return node_at(container.tree(), {"dynamic_scale", "scale"});
}

/// All that a database holds, of arrays or not.
struct Contents {
  std::map<std::string, Bytes> values;
  std::uint64_t height = 0;
};

Contents contents_of(const std::shared_ptr<MemoryFolder>& folder) {
  const Bytes& image = folder->images.at(ocdbt_manifest_name);
  const OcdbtManifest manifest = read_ocdbt_manifest(image, "manifest", *folder->budget());
  const OcdbtTree tree(folder, manifest, "manifest");
  Contents all;
  all.height = manifest.versions.back().height;
  for (const std::string& key : tree.keys()) all.values[key] = tree.value(key);
  return all;
}

/// The only data file.
const Bytes& data_of(const MemoryFolder& folder) {
  return std::ranges::find_if(folder.images, [](const auto& file) { return file.first.starts_with("d/"); })->second;
}

Status status_of(const std::shared_ptr<MemoryFolder>& item) {
  return test::status_of([&] { open_item(item, every_array); });
}

ZarrArray array_of(std::string_view document, std::string_view name) {
  return zarr_array(test::bytes_of(document), name, "an array");
}

/// A document of version 3 of a float32 of that shape, with these codecs.
std::string document3(std::string_view shape, const std::string& codecs, std::string_view more = "") {
  return fmt::format(R"({{"chunk_grid":{{"configuration":{{"chunk_shape":{0}}},"name":"regular"}},)"
                     R"("chunk_key_encoding":{{"name":"default"{2}}},"codecs":[{1}],"data_type":"float32",)"
                     R"("fill_value":0.0,"node_type":"array","shape":{0},"zarr_format":3}})",
                     shape, codecs, more);
}

constexpr std::string_view little_bytes = R"({"name":"bytes","configuration":{"endian":"little"}})";

/// One inner chunk of that shape and codecs in a shard whose index stands as `index` says.
std::string sharded(std::string_view shape, std::string_view codecs, std::string_view index) {
  return fmt::format(R"({{"name":"sharding_indexed","configuration":{{"chunk_shape":{},"codecs":[{}],{}}}}})", shape,
                     codecs, index);
}

constexpr std::string_view plain_index = R"("index_codecs":[{"name":"bytes"},{"name":"crc32c"}])";

constexpr std::string_view scalar2 =
    R"({"chunks":[],"compressor":null,"dtype":"<f4","fill_value":null,"filters":null,"order":"C","shape":[],"zarr_format":2})";

}  // namespace

TEST_CASE("a scale is found in every kind of item, with the type that it had") {
  for (const Item& item : items) {
    INFO(item.folder);
    const auto container = open_item(MemoryFolder::of_corpus(item.folder), the_scale);
    CHECK(container->findings().empty());
    const Value value = container->tree().value(scale_of(*container), 1);
    CHECK(value.type == item.type);
    CHECK(value.as_double() == item.scale);
  }
}

TEST_CASE("an edit of an item reads back, and no other value differs") {
  for (const Item& item : items) {
    INFO(item.folder);
    const auto folder = MemoryFolder::of_corpus(item.folder);
    const auto before = open_item(folder, every_array);
    for (const double scale : {4096.0, 0.75, 1048576.0}) {
      const auto opened = open_item(folder, every_array);
      folder->apply(*opened, opened->change_parts(std::vector<NodeChange>{{scale_of(*opened), scale, "scale"}}));
      const auto after = open_item(folder, every_array);
      CHECK(after->findings().empty());
      CHECK(test::differing(before->tree(), after->tree()) == std::vector<NodeId>{scale_of(*before)});
      CHECK(after->tree().value(scale_of(*after), 1).as_double() == scale);
    }
  }
}

TEST_CASE("a chunk that becomes shorter is written anew, and the others stay") {
  const auto folder = MemoryFolder::of_corpus("flax/orbax_zarr/run/10/default");
  const std::string chunk = "dynamic_scale.scale/0";
  // 150.0 in a block of 4 bytes, and the end in a block of its own.
  folder->images.at(chunk) = test::bytes_of("\x28\xb5\x2f\xfd\x20\x04\x20\0\0\0\0\x16\x43\x01\0\0"sv);
  const auto opened = open_item(folder, every_array);
  CHECK(opened->findings().empty());
  REQUIRE(opened->tree().value(scale_of(*opened), 1).as_double() == 150);
  const auto changes = opened->change_parts(std::vector<NodeChange>{{scale_of(*opened), 4096.0, "scale"}});
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].change.patches.empty());
  REQUIRE(changes[0].change.splice);
  CHECK(changes[0].change.splice->meaning == "scale");
  folder->apply(*opened, changes);
  CHECK(folder->images.at(chunk).size() == 13);
  const auto after = open_item(folder, every_array);
  CHECK(after->tree().value(scale_of(*after), 1).as_double() == 4096);
  CHECK(test::differing(opened->tree(), after->tree()) == std::vector<NodeId>{scale_of(*opened)});
}

TEST_CASE("of arrays in folders only the chosen ones are opened") {
  const auto folder = MemoryFolder::of_corpus("flax/orbax_zarr3/run/4/default");
  open_item(folder, the_scale);
  CHECK(folder->opened == std::set<std::string>{"dynamic_scale.fin_steps/c", "dynamic_scale.fin_steps/zarr.json",
                                                "dynamic_scale.scale/c", "dynamic_scale.scale/zarr.json"});
}

TEST_CASE("a database's edit is a version of its own: what was there stays, and is the history") {
  const auto folder = MemoryFolder::of_corpus("flax/orbax_ocdbt/run/2/default");
  const auto before = folder->images;
  const auto manifest = [&] {
    return read_ocdbt_manifest(folder->images.at(ocdbt_manifest_name), "manifest", *folder->budget());
  };
  REQUIRE(manifest().versions.size() == 1);
  for (std::uint64_t generation = 2; generation <= 18; ++generation) {
    const auto opened = open_item(folder, the_scale);
    const auto scale = static_cast<double>(generation);
    folder->apply(*opened, opened->change_parts(std::vector<NodeChange>{{scale_of(*opened), scale, "scale"}}));
    const OcdbtManifest now = manifest();
    CHECK(now.versions.back().generation == generation);
    CHECK(now.versions.size() == (generation <= 16 ? generation : generation - 16));  // as the format bounds them
    const auto after = open_item(folder, the_scale);
    CHECK(after->tree().value(scale_of(*after), 1).as_double() == scale);
  }
  for (const auto& [name, image] : before) {
    INFO(name);
    const Bytes& now = folder->images.at(name);
    if (name != ocdbt_manifest_name) CHECK(std::equal(image.begin(), image.end(), now.begin()));
  }
}

TEST_CASE(
    "in a tree several nodes high an edit leaves every other key its value, and nodes off the way where they are") {
  const auto folder = MemoryFolder::of_corpus("flax/orbax_ocdbt_deep/run/2/default");
  const Contents before = contents_of(folder);
  CHECK(before.values.size() == 80);
  CHECK(before.height >= 2);
  for (const double scale : {4096.0, 0.75}) {
    const Bytes old = data_of(*folder);
    const auto opened = open_item(folder, the_scale);
    folder->apply(*opened, opened->change_parts(std::vector<NodeChange>{{scale_of(*opened), scale, "scale"}}));
    const Contents after = contents_of(folder);
    CHECK(after.height == before.height);
    REQUIRE(after.values.size() == before.values.size());
    for (const auto& [key, value] : after.values) {
      INFO(key);
      CHECK((value == before.values.at(key)) == (key != "dynamic_scale.scale/0"));
    }
    const Bytes& now = data_of(*folder);
    REQUIRE(now.size() > old.size());
    CHECK(std::equal(old.begin(), old.end(), now.begin()));
    CHECK(now.size() - old.size() < old.size() / 4);
  }
}

TEST_CASE("what each process wrote is not what counts") {
  const auto folder = MemoryFolder::of_corpus("flax/orbax_ocdbt/run/2/default");
  open_item(folder, every_array);
  CHECK(std::none_of(folder->opened.begin(), folder->opened.end(),
                     [](const std::string& name) { return name.starts_with("ocdbt.process_0/"); }));
}

TEST_CASE("every bit of a database's files is covered: damage is refused") {
  const auto folder = MemoryFolder::of_corpus("flax/orbax_ocdbt/run/2/default");
  const auto good = folder->images;
  REQUIRE(status_of(folder) == Status::ok);
  for (auto& [name, image] : folder->images) {
    if (name != ocdbt_manifest_name && !name.starts_with("d/")) continue;
    for (std::size_t at = 0; at < image.size(); at += 7) {
      INFO(name << " at " << at);
      image[at] ^= std::byte{0x10};
      CHECK(status_of(folder) == Status::corrupt);
      image = good.at(name);
    }
    image.resize(image.size() - 1);
    CHECK(status_of(folder) == Status::corrupt);
    image = good.at(name);
  }
}

TEST_CASE("a chunk that is damaged or gone is told, and the others are read") {
  const auto folder = MemoryFolder::of_corpus("flax/orbax_zarr3/run/4/default");
  const std::string chunk = "dynamic_scale.scale/c";
  const Bytes good = folder->images.at(chunk);
  for (std::size_t at = 13; at < good.size(); ++at) {  // the shard's index and its checksum
    INFO(at);
    folder->images[chunk] = good;
    folder->images[chunk][at] ^= std::byte{1};
    const auto opened = open_item(folder, the_scale);
    REQUIRE(opened->findings().size() == 1);
    CHECK(opened->findings()[0].code == "item-not-read");
    CHECK(scale_of(*opened) == nowhere);
    CHECK(node_at(opened->tree(), {"dynamic_scale", "fin_steps"}) != nowhere);
  }
  folder->images.erase(chunk);
  CHECK(open_item(folder, the_scale)->findings().size() == 1);
}

TEST_CASE("arrays that are kept another way are refused by name") {
  const auto refused = [](std::string from, std::string_view what, std::string_view by) {
    from.replace(from.find(what), what.size(), by);
    try {
      array_of(from, zarr2_document);
    } catch (const Error& error) {
      return error.status;
    }
    return Status::ok;
  };
  const std::string good(scalar2);
  CHECK(refused(good, "\"<f4\"", "\"<i4\"") == Status::ok);
  CHECK(refused(good, "\"<f4\"", "\">f4\"") == Status::unsupported);
  CHECK(refused(good, "\"compressor\":null", "\"compressor\":{\"id\":\"blosc\"}") == Status::unsupported);
  CHECK(refused(good, "\"filters\":null", "\"filters\":[{}]") == Status::unsupported);
  CHECK(refused(good, "\"shape\":[]", "\"shape\":[4]") == Status::unsupported);
  CHECK(refused(good, "\"shape\":[]", "\"shape\":\"x\"") == Status::corrupt);
  CHECK(refused(good, "\"chunks\":[]", "\"size\":[]") == Status::corrupt);
  CHECK(refused(good, "}", "") == Status::corrupt);
}

TEST_CASE("a chunk is what its chain of codecs makes of the elements, and back, and each checksum is looked at") {
  const Bytes one = test::bytes_of(std::string_view("\0\0\x80\x3f", 4));
  const std::string crc = R"({"name":"crc32c"})";
  const std::string zstd = R"({"name":"zstd","configuration":{"level":3,"checksum":false}})";
  const std::string bytes(little_bytes);
  for (const std::string& codecs :
       {bytes, bytes + "," + crc, bytes + "," + zstd, bytes + "," + zstd + "," + crc, sharded("[]", bytes, plain_index),
        sharded("[]", bytes + "," + crc + "," + zstd, plain_index) + "," + crc}) {
    INFO(codecs);
    const ZarrArray array = array_of(document3("[]", codecs), zarr3_document);
    const Bytes chunk = zarr_chunk(array, one);
    CHECK(zarr_elements(array, chunk, "a") == one);
    CHECK((chunk == one) == (codecs == bytes));
    if (array.codecs.empty()) continue;
    CHECK_THROWS_AS(zarr_elements(array, {}, "a"), Error);
    CHECK_THROWS_AS(zarr_elements(array, ByteView(chunk).first(chunk.size() - 1), "a"), Error);
    if (array.codecs.back() == ZarrCodec::zstd) continue;  // its frame has no checksum
    Bytes damaged = chunk;
    damaged.back() ^= std::byte{1};
    CHECK_THROWS_WITH(zarr_elements(array, damaged, "a"), Catch::Contains("a: chunk: its CRC-32C is wrong"));
  }
  // RFC 3720, B.4: of 32 zeros
  const ZarrArray summed = array_of(document3("[8]", bytes + "," + crc), zarr3_document);
  const Bytes chunk = zarr_chunk(summed, Bytes(32));
  REQUIRE(chunk.size() == 36);
  CHECK(load_le<std::uint32_t>(chunk.data() + 32) == 0x8a9136aa);
}

TEST_CASE("a shard whose index leads out of it is damaged, and so is one that is shorter than its index") {
  const ZarrArray array = array_of(document3("[]", sharded("[]", little_bytes, plain_index)), zarr3_document);
  const auto shard = [](std::uint64_t offset, std::uint64_t size) {
    Bytes made(4);
    Bytes index;
    append_le(index, offset);
    append_le(index, size);
    append_le(index, crc32c(index));
    made.insert(made.end(), index.begin(), index.end());
    return made;
  };
  CHECK(zarr_elements(array, shard(0, 4), "a") == Bytes(4));
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{1, 4}, {0, 5}, {5, 0}, {~0ULL, ~0ULL}}) {
    CHECK_THROWS_WITH(zarr_elements(array, shard(offset, size), "a"),
                      Catch::Contains("the shard's index leads out of it"));
  }
  CHECK_THROWS_WITH(zarr_elements(array, Bytes(19), "a"), Catch::Contains("is too short for a shard"));
}

TEST_CASE(
    "of version 3 a chunk has the name that its encoding gives, and what is encoded otherwise is refused by name") {
  CHECK(array_of(document3("[]", std::string(little_bytes)), zarr3_document).chunk == "c");
  CHECK(array_of(document3("[1,1]", std::string(little_bytes)), zarr3_document).chunk == "c/0/0");
  const std::string dots = R"(,"configuration":{"separator":"."})";
  CHECK(array_of(document3("[1,1]", std::string(little_bytes), dots), zarr3_document).chunk == "c.0.0");
  const auto says = [](const std::string& codecs, std::string_view what) {
    CHECK_THROWS_WITH(array_of(document3("[]", codecs), zarr3_document), Catch::Contains(std::string(what)));
  };
  const std::string inner(little_bytes);
  says(R"({"name":"bytes","configuration":{"endian":"big"}})", "is big-endian");
  says(R"({"name":"blosc"})", "is encoded with blosc");
  says(sharded("[]", inner, R"("index_codecs":[{"name":"bytes"}])"), "is sharded with another index");
  says(sharded("[]", inner, std::string(plain_index) + R"(,"index_location":"start")"),
       "is sharded with another index");
  says(sharded("[]", sharded("[]", inner, plain_index), plain_index), "is encoded with sharding_indexed");
  says(sharded("[1]", inner, plain_index), "is an array of several chunks");
}

TEST_CASE("arrays have the sizes that they say") {
  const ZarrArray plain = array_of(scalar2, zarr2_document);
  CHECK(zarr_elements(plain, Bytes(4), "a") == Bytes(4));
  CHECK_THROWS_AS(zarr_elements(plain, Bytes(5), "a"), Error);
  std::string huge(scalar2);
  for (const std::string_view member : {"\"shape\":[", "\"chunks\":["}) {
    huge.insert(huge.find(member) + member.size(), "4611686018427387904,4611686018427387904");
  }
  CHECK_THROWS_AS(zarr_elements(array_of(huge, zarr2_document), Bytes(4), "a"), Error);
}

}  // namespace tare
