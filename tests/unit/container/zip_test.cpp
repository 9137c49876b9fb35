
#include <algorithm>
#include <tuple>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/container/zip/change.hpp"
#include "lib/container/zip/layout.hpp"
#include "lib/container/zip/zip.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

std::unique_ptr<const ZipArchive> open_zip(Bytes image) {
  return std::make_unique<const ZipArchive>(std::make_shared<MemorySource>("image", std::move(image)));
}

Bytes two_records() {
  ArchiveWriter writer;
  writer.add("a/one", as_bytes("first"));
  writer.add("a/two", as_bytes("second"), {.is_deflated = true});
  writer.finish();
  return writer.bytes();
}

std::size_t place_of(const Bytes& image, std::uint32_t signature) {
  Bytes wanted;
  append_le(wanted, signature);
  return static_cast<std::size_t>(std::search(image.begin(), image.end(), wanted.begin(), wanted.end()) -
                                  image.begin());
}

}  // namespace

TEST_CASE("records of a zip come out as they went in, stored or deflated") {
  const auto archive = open_zip(two_records());
  REQUIRE(archive->entries().size() == 2);
  CHECK(as_text(archive->read(*archive->find("a/one"), 100)) == "first");
  CHECK(as_text(archive->read(*archive->find("a/two"), 100)) == "second");
  CHECK(archive->find("a/three") == nullptr);
  CHECK(archive->find("a/ONE") == nullptr);
}

TEST_CASE("a real torch archive has its records where torch's own reader finds them") {
  const Bytes image = corpus_bytes("torch/tensor1d-t2.15/checkpoint.pt");
  const auto archive = open_zip(image);
  for (const ZipEntry& entry : archive->entries()) {
    INFO(entry.name);
    CHECK(archive->record(entry).payload.offset % 64 == 0);
    CHECK(crc32(archive->read(entry, image.size())) == entry.crc);
    CHECK(archive->record(entry).payload.end() <= entry.limit);
  }
}

TEST_CASE("names that differ in case alone are twins") {
  ArchiveWriter writer;
  writer.add("a/data.pkl", as_bytes("x"));
  writer.add("a/DATA.pkl", as_bytes("y"));
  writer.finish();
  CHECK(open_zip(writer.bytes())->duplicate()->name == "a/DATA.pkl");
  CHECK(open_zip(two_records())->duplicate() == nullptr);
  ArchiveWriter nameless;
  nameless.add("", as_bytes("x"));
  nameless.add("", as_bytes("y"));
  nameless.finish();
  CHECK(open_zip(nameless.bytes())->duplicate() != nullptr);
}

TEST_CASE("names that only share bits are no twins") {
  ArchiveWriter writer;
  // '[' and '{' differ in the bit that tells case apart, and are no letters.
  for (const std::string_view name : {"a/[", "a/{", "a/@", "a/`"}) writer.add(name, as_bytes("x"));
  writer.finish();
  CHECK(open_zip(writer.bytes())->duplicate() == nullptr);
}

TEST_CASE("thousands of records are looked up by name") {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("archive/data/" + std::to_string(i));
  ArchiveWriter writer;
  for (const std::string& name : names) writer.add(name, as_bytes(name));
  writer.finish();
  const auto archive = open_zip(writer.bytes());
  for (const std::string& name : names) CHECK(as_text(archive->read(*archive->find(name), 100)) == name);
}

TEST_CASE("an archive that follows its file, whichever byte of it changes, is what opening it afresh would find") {
  Bytes image = two_records();
  std::size_t followed = 0, anew = 0, refused = 0;
  for (std::size_t at = 0; at < image.size(); ++at) {
    for (const std::byte flipped : {std::byte{0x01}, std::byte{0x20}, std::byte{0x80}}) {
      INFO("byte " << at << " ^ " << std::to_integer<int>(flipped));
      ZipArchive archive(std::make_shared<MemorySource>("image", image));
      Bytes later = image;
      later[at] ^= flipped;
      std::unique_ptr<const ZipArchive> fresh;
      try {
        fresh = open_zip(later);
      } catch (const Error&) {
      }
      bool follows = false;
      try {
        follows = archive.follow(std::make_shared<MemorySource>("image", later));
        ++(follows ? followed : anew);
      } catch (const Error&) {
        CHECK(fresh == nullptr);
        ++refused;
      }
      if (!follows) continue;
      REQUIRE(fresh != nullptr);
      REQUIRE(archive.entries().size() == fresh->entries().size());
      CHECK(std::ranges::equal(archive.directory(), fresh->directory()));
      CHECK(std::ranges::equal(archive.comment(), fresh->comment()));
      CHECK(archive.duplicate() == nullptr);
      for (std::size_t i = 0; i < fresh->entries().size(); ++i) {
        const ZipEntry& now = archive.entries()[i];
        const ZipEntry& then = fresh->entries()[i];
        CHECK(
            std::tie(now.name, now.header, now.stored_size, now.size, now.limit, now.crc, now.row, now.method) ==
            std::tie(then.name, then.header, then.stored_size, then.size, then.limit, then.crc, then.row, then.method));
        CHECK(archive.find(then.name) == &now);
      }
    }
  }
  CHECK(followed > 100);
  CHECK(anew > 50);
  CHECK(refused > 50);
}

TEST_CASE("an archive cut anywhere is refused") {
  const Bytes image = two_records();
  for (std::size_t size = 0; size < image.size(); ++size) {
    INFO(size);
    CHECK_THROWS_AS(open_zip(Bytes(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size))), Error);
  }
}

TEST_CASE("end records that contradict each other are refused") {
  const Bytes image = two_records();
  const std::size_t end = image.size() - zip::end_size;
  for (const std::size_t field : {4u, 8u, 10u, 12u, 16u, 20u}) {
    Bytes wrong = image;
    wrong[end + field] ^= std::byte{1};
    INFO(field);
    CHECK_THROWS_AS(open_zip(wrong), Error);
  }
  const std::size_t end64 = place_of(image, zip::end64_signature);
  for (const std::size_t field : {0u, 4u, 16u, 24u, 32u, 40u, 48u}) {
    Bytes wrong = image;
    wrong[end64 + field] ^= std::byte{1};
    INFO(field);
    CHECK_THROWS_AS(open_zip(wrong), Error);
  }
}

TEST_CASE("a deflated record that does not give its bytes is refused") {
  Bytes image = two_records();
  const auto archive = open_zip(image);
  const ZipEntry& entry = *archive->find("a/two");
  image[archive->record(entry).payload.offset] ^= std::byte{0xff};
  const auto damaged = open_zip(image);
  CHECK_THROWS_AS(damaged->read(*damaged->find("a/two"), 100), Error);
  CHECK_THROWS_AS(archive->read(entry, 5), Error);
}

TEST_CASE("a data descriptor that is not there is noticed before an edit") {
  Bytes image = two_records();
  const std::size_t descriptor = place_of(image, zip::descriptor_signature);
  image[descriptor] ^= std::byte{1};
  const auto archive = open_zip(image);
  CHECK_THROWS_AS(archive->checksums(*archive->find("a/one")), Error);
}

TEST_CASE("a checksum follows from a patch in a large record without reading it") {
  const Bytes content(200'000, std::byte{7});
  ArchiveWriter writer;
  writer.add("a/large", content);
  writer.finish();
  const auto image = writer.image();
  const ZipArchive archive(image);
  const Span payload = archive.record(archive.entries()[0]).payload;
  ZipChange change(archive);
  image->bytes_read = 0;
  change.patch({payload.offset + 1000, 4}, SharedBytes::copy_of(as_bytes("true")), "an element");
  const FileChange planned = std::move(change).finish();
  CHECK(image->bytes_read < 1000);
  image->apply(planned);
  Bytes wanted = content;
  std::copy_n(as_bytes("true").begin(), 4, wanted.begin() + 1000);
  const ZipArchive after(image);
  CHECK(after.entries()[0].crc == crc32(wanted));
  for (const ZipChecksum& copy : after.checksums(after.entries()[0])) CHECK(copy.value == crc32(wanted));
}

TEST_CASE("names that lead out of a folder are told apart from those that do not") {
  CHECK(name_problem("archive/data/0").empty());
  CHECK(name_problem("a/..b/c").empty());
  CHECK(name_problem("a/../../b") == "climbs out of its folder");
  CHECK(name_problem("..") == "climbs out of its folder");
  CHECK(name_problem("/etc/passwd") == "is an absolute path");
  CHECK(name_problem("C:\\x") == "holds a backslash");
  CHECK(name_problem("C:x") == "is an absolute path");
  CHECK(name_problem(std::string_view("a\0b", 3)) == "holds a NUL");
  CHECK(name_problem("") == "is empty");
}
