
#include <algorithm>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/versioned_source.hpp"
#include "lib/container/zip/layout.hpp"
#include "lib/container/zip/zip.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/growing_source.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

Bytes edited(const Bytes& image, std::initializer_list<Step> steps, NodeValue value) {
  const auto container = open_image(image);
  const NodeChange change{node_at(container->tree(), steps), value, "a new value"};
  return applied(image, container->change({&change, 1}));
}

Value value_at(const Bytes& image, std::initializer_list<Step> steps) {
  const auto container = open_image(image);
  return container->tree().value(node_at(container->tree(), steps), 64);
}

/// Every record's bytes have the CRC that all its copies say, where it is not 0.
void require_checksums(const Bytes& image) {
  const ZipArchive archive(std::make_shared<MemorySource>("image", image));
  for (const ZipEntry& entry : archive.entries()) {
    const std::uint32_t crc = crc32(archive.read(entry, image.size()));
    for (const ZipChecksum& copy : archive.checksums(entry)) {
      INFO(entry.name << ", " << copy.place);
      CHECK((copy.value == crc || copy.value == 0));
    }
  }
}

/// {"scaler": {"scale": 65536.0, "tracker": 2}} without a single memo slot: nothing to make room with.
const Bytes tight_pickle =
    bytes_of("\x80\x02}X\x06\0\0\0scaler}(X\x05\0\0\0scaleG\x40\xf0\0\0\0\0\0\0X\x07\0\0\0trackerK\x02us."sv);

}  // namespace

TEST_CASE("a training checkpoint of every torch reads as written") {
  struct Case {
    std::string_view file;
    double scale, tracker;
  };
  constexpr Case cases[] = {{"torch/train-t1.13/checkpoint.pth", 16384, 3},
                            {"torch/train-t2.15/checkpoint.pth", 8192, 2}};
  for (const auto& [file, scale, tracker] : cases) {
    INFO(file);
    const auto container = open_corpus(file);
    CHECK(container->format() == "torch_zip");
    CHECK(container->findings().empty());
    const Tree& tree = container->tree();
    CHECK(tree.value(node_at(tree, {"scaler", "scale"}), 1).type == "float");
    CHECK(tree.value(node_at(tree, {"scaler", "scale"}), 1).as_double() == scale);
    CHECK(tree.value(node_at(tree, {"scaler", "_growth_tracker"}), 1).as_double() == tracker);
  }
}

TEST_CASE("a float changes in eight bytes at most and two checksums") {
  const Bytes image = corpus_bytes("torch/train-t2.15/checkpoint.pth");
  const Bytes after = edited(image, {"scaler", "scale"}, 12345.678);
  CHECK(value_at(after, {"scaler", "scale"}).as_double() == 12345.678);
  CHECK(changed_offsets(image, after).size() <= 16);
  require_checksums(after);
}

TEST_CASE("an element of a tensor changes in its record and nowhere else") {
  const Bytes image = corpus_bytes("torch/cuda-tag-t2.15/gpu.pt");
  const auto container = open_image(image);
  const Bytes after = edited(image, {"scaler", "scale"}, 1024.0);
  const auto again = open_image(after);
  const NodeId scale = node_at(again->tree(), {"scaler", "scale"});
  CHECK(again->tree().value(scale, 1).type == "tensor:float32[]");
  CHECK(again->tree().value(scale, 1).as_double() == 1024.0);
  CHECK(differing(container->tree(), again->tree()) == std::vector<NodeId>{scale});
  require_checksums(after);
}

TEST_CASE("a big-endian checkpoint keeps its byte order") {
  const Bytes image = corpus_bytes("torch/big-endian/be.pt");
  CHECK(value_at(image, {"scaler", "scale"}).as_double() == 131072.0);
  const Bytes after = edited(image, {"scaler", "scale"}, 1024.0);
  CHECK(value_at(after, {"scaler", "scale"}).as_double() == 1024.0);
  const ZipArchive archive(std::make_shared<MemorySource>("image", after));
  const Bytes element = archive.read(*archive.find("be/data/0"), 4);
  CHECK(load<float>(element.data(), std::endian::big) == 1024.0f);
  require_checksums(after);
}

TEST_CASE("checksums that torch did not compute stay 0") {
  const Bytes image = corpus_bytes("torch/crc-off/nocrc.pt");
  const Bytes after = edited(image, {"scaler", "scale"}, 1024.0);
  CHECK(value_at(after, {"scaler", "scale"}).as_double() == 1024.0);
  CHECK(changed_offsets(image, after).size() <= 8);
  const ZipArchive archive(std::make_shared<MemorySource>("image", after));
  for (const ZipEntry& entry : archive.entries()) CHECK(entry.crc == 0);
}

TEST_CASE("what only grows changes behind its end alone, and says that its records stand in no order") {
  for (const auto* const file :
       {"torch/train-t2.15/checkpoint.pth", "torch/cuda-tag-t2.15/gpu.pt", "torch/crc-off/nocrc.pt"}) {
    INFO(file);
    const Bytes image = corpus_bytes(file);
    const auto container = open_container(std::make_shared<GrowingSource>(image));
    const NodeId scale = node_at(container->tree(), {"scaler", "scale"});
    const NodeChange change{scale, 1024.0, "a new value"};
    const FileChange made = container->change({&change, 1});
    CHECK(made.patches.empty());
    REQUIRE(made.append);
    CHECK(made.append->old_size == image.size());
    const Bytes after = applied(image, made);
    const auto again = open_image(after);
    CHECK(differing(container->tree(), again->tree()) == std::vector<NodeId>{scale});
    CHECK(value_at(after, {"scaler", "scale"}).as_double() == 1024.0);
    CHECK(again->findings().size() == container->findings().size());
    require_checksums(after);
    const bool is_tensor = container->tree().kind(scale) == Kind::tensor;
    const ZipArchive archive(std::make_shared<MemorySource>("image", after));
    const auto version = std::ranges::find_if(
        archive.entries(), [](const ZipEntry& entry) { return entry.name.ends_with("/.format_version"); });
    if (version == archive.entries().end()) continue;
    CHECK(archive.read(*version, 1) == bytes_of(is_tensor ? "0" : "1"));
  }
}

TEST_CASE("a longer pickle is appended with a directory of its own, and the old archive stays below") {
  const Bytes image = torch_archive(tight_pickle);
  const Bytes after = edited(image, {"scaler", "tracker"}, Integer{300, {}});
  REQUIRE(after.size() > image.size());
  CHECK(std::equal(image.begin(), image.end(), after.begin()));
  CHECK(value_at(after, {"scaler", "tracker"}).as_double() == 300);
  CHECK(value_at(after, {"scaler", "scale"}).as_double() == 65536.0);
  require_checksums(after);

  const ZipArchive before(std::make_shared<MemorySource>("image", image));
  const ZipArchive archive(std::make_shared<MemorySource>("image", after));
  REQUIRE(archive.entries().size() == before.entries().size());
  for (std::size_t i = 0; i < archive.entries().size(); ++i) {
    CHECK(archive.entries()[i].name == before.entries()[i].name);
    CHECK((archive.entries()[i].header == before.entries()[i].header) == (i > 0));
  }
  CHECK(archive.record(archive.entries()[0]).payload.offset % 64 == 0);
  CHECK(open_image(after)->findings().empty());
}

TEST_CASE("an appended pickle is patched in place when its size stays, and appended again when not") {
  const Bytes image = torch_archive(tight_pickle);
  const Bytes once = edited(image, {"scaler", "tracker"}, Integer{300, {}});
  const Bytes twice = edited(once, {"scaler", "tracker"}, Integer{301, {}});
  CHECK(twice.size() == once.size());
  CHECK(value_at(twice, {"scaler", "tracker"}).as_double() == 301);
  const Bytes thrice = edited(twice, {"scaler", "tracker"}, Integer{70000, {}});
  CHECK(thrice.size() > twice.size());
  CHECK(value_at(thrice, {"scaler", "tracker"}).as_double() == 70000);
  require_checksums(thrice);
}

TEST_CASE("an append commits with the end records alone: without them the old archive rules") {
  const Bytes image = torch_archive(tight_pickle);
  const auto container = open_image(image);
  const NodeChange change{node_at(container->tree(), {"scaler", "tracker"}), Integer{300, {}}, "tracker"};
  FileChange planned = container->change({&change, 1});
  REQUIRE(planned.append);
  CHECK(planned.append->commit.size() == 98);
  planned.append->commit.clear();
  CHECK(value_at(applied(image, planned), {"scaler", "tracker"}).as_double() == 2);
}

TEST_CASE("an archive comment moves with an append") {
  ArchiveWriter writer;
  writer.add("a/data.pkl", tight_pickle);
  writer.add("a/version", as_bytes("3"));
  writer.finish("a comment");
  const Bytes after = edited(writer.bytes(), {"scaler", "tracker"}, Integer{300, {}});
  const ZipArchive archive(std::make_shared<MemorySource>("image", after));
  CHECK(as_text(archive.comment()) == "a comment");
  CHECK(archive.findings().empty());
}

TEST_CASE("a compressed pickle is read, and an edit leaves it plain") {
  ArchiveWriter writer;
  writer.add("a/data.pkl", tight_pickle, {.is_deflated = true});
  writer.add("a/version", as_bytes("3"));
  writer.finish();
  const Bytes image = writer.bytes();
  REQUIRE(open_image(image)->findings().size() == 1);
  CHECK(open_image(image)->findings()[0].code == "compressed-pickle");
  const Bytes after = edited(image, {"scaler", "scale"}, 2.0);
  CHECK(value_at(after, {"scaler", "scale"}).as_double() == 2.0);
  CHECK(open_image(after)->findings().empty());
  require_checksums(after);
}

TEST_CASE("bytes behind STOP stay with the record") {
  Bytes longer = tight_pickle;
  longer.insert(longer.end(), 5, std::byte{0});
  const Bytes image = torch_archive(longer);
  CHECK(open_image(image)->findings().empty());
  const Bytes after = edited(image, {"scaler", "tracker"}, Integer{300, {}});
  const ZipArchive archive(std::make_shared<MemorySource>("image", after));
  const Bytes record = archive.read(*archive.find("archive/data.pkl"), 1000);
  CHECK(record.size() == longer.size() + 1);
  CHECK(std::count(record.end() - 5, record.end(), std::byte{0}) == 5);
}

TEST_CASE("a record whose checksum is wrong is not blessed by an edit") {
  Bytes image = torch_archive(tight_pickle);
  const ZipArchive archive(std::make_shared<MemorySource>("image", image));
  for (const ZipChecksum& copy : archive.checksums(archive.entries()[0])) image[copy.offset] ^= std::byte{1};
  const auto container = open_image(image);
  REQUIRE(container->findings().size() == 1);
  CHECK(container->findings()[0].code == "crc-mismatch");
  const NodeChange change{node_at(container->tree(), {"scaler", "scale"}), 2.0, "scale"};
  CHECK_THROWS_AS(container->change({&change, 1}), Error);
}

TEST_CASE("records beyond 4 GiB are found, and so is a pickle appended there") {
  constexpr std::uint64_t hole = 5'000'000'000;
  ArchiveWriter writer;
  writer.add("big/data.pkl", tight_pickle);
  writer.add_hole("big/data/0", hole);
  writer.add("big/data/1", as_bytes("four"));
  writer.add("big/version", as_bytes("3\n"));
  writer.finish();
  const auto image = writer.image();

  image->bytes_read = 0;
  const auto container = open_container(image);
  CHECK(image->bytes_read < 70'000);
  CHECK(container->findings().empty());
  const NodeChange change{node_at(container->tree(), {"scaler", "tracker"}), Integer{300, {}}, "tracker"};
  image->apply(container->change({&change, 1}));

  const ZipArchive archive(image);
  CHECK(archive.entries()[0].header > hole);
  CHECK(archive.entries()[1].size == hole);
  CHECK(archive.record(archive.entries()[0]).payload.offset % 64 == 0);
  CHECK(as_text(archive.read(archive.entries()[2], 4)) == "four");
  const auto again = open_container(image);
  CHECK(again->findings().empty());
  CHECK(again->tree().value(node_at(again->tree(), {"scaler", "tracker"}), 1).as_double() == 300);
}

TEST_CASE("names and versions that torch writes for any file name are taken as they are") {
  CHECK(open_corpus("torch/name-utf8/modèle café 模型.pt")->findings().empty());
  CHECK(open_corpus("torch/align1/aligned.pt")->findings().empty());
  CHECK(open_corpus("torch/align4096/aligned.pt")->findings().empty());
  CHECK(open_corpus("torch/skip-data/skipped.pt")->findings().empty());
}

TEST_CASE("an archive without a version is read with a warning") {
  ArchiveWriter writer;
  writer.add("a/data.pkl", tight_pickle);
  writer.finish();
  const auto container = open_image(writer.bytes());
  REQUIRE(container->findings().size() == 1);
  CHECK(container->findings()[0].code == "record-version");
}
