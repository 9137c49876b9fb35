// Keras's zips, real and made.

#include <algorithm>

#include "lib/base/crc32.hpp"
#include "lib/container/zip/zip.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/changed.hpp"

using namespace tare;
using namespace tare::test;

namespace {

constexpr Answer answers[] = {
    {"keras_bad_crc/model.keras", Status::ok, "crc-mismatch"},
    {"keras_config_code/model.keras", Status::ok, "opaque-class"},
    {"keras_config_depth/model.keras", Status::ok, "config-not-read"},
    {"keras_npz_objects/model.keras", Status::ok, "array-not-read"},
    {"keras_size_lie/model.keras", Status::corrupt},
    {"keras_traversal/model.keras", Status::ok, "unsafe-name"},
    {"keras_truncated/model.keras", Status::corrupt},
    {"keras_two_weights/model.keras", Status::ok, "duplicate-entry"},
    {"keras_zip_bomb/model.keras", Status::refused},
};

/// Whether every member's CRC-32 is right.
bool is_whole(const Bytes& image) {
  const ZipArchive archive(std::make_shared<MemorySource>("image", image));
  return std::all_of(archive.entries().begin(), archive.entries().end(),
                     [&](const ZipEntry& entry) { return crc32(archive.read(entry, image.size())) == entry.crc; });
}

}  // namespace

TEST_CASE("a .keras is its weights, and an edit mends the member's checksum") {
  for (const auto* file : {"keras/archive_tf/model.keras", "keras/old_archive_hdf5_2/model.keras"}) {
    INFO(file);
    const Bytes image = corpus_bytes(file);
    const auto container = open_image(image);
    CHECK(container->format() == "keras");
    CHECK(container->findings().empty());
    const Changed changed = change_value(image, {"optimizer", "vars", "3"}, 128.0);
    CHECK(number_at(*changed.container, {"optimizer", "vars", "3"}) == 128);
    CHECK(changed.image.size() == image.size());
    CHECK(is_whole(changed.image));
  }
}

TEST_CASE("archives made to break readers are refused, or opened with what is wrong") {
  for (const Answer& answer : answers) check_answer(answer);
}

TEST_CASE("where two members have one name, neither is changed") {
  const auto container = open_corpus("hostile/keras_two_weights/model.keras");
  const NodeChange change{node_at(container->tree(), {"optimizer", "vars", "3"}), 2.0, "scale"};
  CHECK_THROWS_WITH(container->change({&change, 1}), Catch::Contains("twice"));
}
