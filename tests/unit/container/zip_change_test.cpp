// What an edit writes of an archive, field by field: every record says of itself what the directory says of it, and
// what nobody asked to change stays.
#include "lib/container/zip/change.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/versioned_source.hpp"
#include "lib/container/zip/layout.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/growing_source.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

constexpr std::size_t version_in_row = 6;
constexpr std::size_t version_in_local = 4;
constexpr std::size_t moment_in_row = 12;
constexpr std::size_t moment_in_local = 10;
constexpr std::size_t attributes_in_row = 38;

std::shared_ptr<const Source> source_of(const Bytes& image) {
  return std::make_shared<MemorySource>("image", image);
}

template <typename T>
T at(const Bytes& bytes, std::uint64_t offset) {
  REQUIRE(offset + sizeof(T) <= bytes.size());
  return load_le<T>(bytes.data() + offset);
}

/// One record as its row in the directory and its local header tell it.
struct Told {
  std::string name;
  std::uint64_t row, header;
  std::uint16_t made_by, version, flags, method, extra_size;
  std::uint32_t moment, crc, size, attributes;
  std::uint64_t payload;

  Told(const Bytes& image, const ZipArchive& archive, const ZipEntry& entry)
      : name(entry.name),
        row(archive.directory_offset() + entry.row),
        header(entry.header),
        made_by(at<std::uint16_t>(image, row + 4)),
        version(at<std::uint16_t>(image, row + version_in_row)),
        flags(at<std::uint16_t>(image, row + zip::row::flags)),
        method(at<std::uint16_t>(image, row + zip::row::method)),
        extra_size(at<std::uint16_t>(image, row + zip::row::extra_size)),
        moment(at<std::uint32_t>(image, row + moment_in_row)),
        crc(at<std::uint32_t>(image, row + zip::row::crc)),
        size(at<std::uint32_t>(image, row + zip::row::size)),
        attributes(at<std::uint32_t>(image, row + attributes_in_row)),
        payload(header + zip::local_size + at<std::uint16_t>(image, header + zip::local::name_size) +
                at<std::uint16_t>(image, header + zip::local::extra_size)) {}
};

/// Throughout: the header says what the row does. Sizes and CRCs of one with a descriptor stand behind its data.
void require_alike(const Bytes& image, const Told& told) {
  CHECK(at<std::uint32_t>(image, told.row) == zip::row_signature);
  CHECK(at<std::uint32_t>(image, told.header) == zip::local_signature);
  CHECK(at<std::uint16_t>(image, told.header + version_in_local) == told.version);
  CHECK(at<std::uint16_t>(image, told.header + zip::local::flags) == told.flags);
  CHECK(at<std::uint16_t>(image, told.header + zip::local::method) == told.method);
  CHECK(at<std::uint32_t>(image, told.header + moment_in_local) == told.moment);
  CHECK(at<std::uint16_t>(image, told.header + zip::local::name_size) == told.name.size());
  CHECK(as_text(ByteView(image).subspan(told.header + zip::local_size, told.name.size())) == told.name);
  if ((told.flags & zip::flag_descriptor) != 0) return;
  CHECK(at<std::uint32_t>(image, told.header + zip::local::crc) == told.crc);
  CHECK(at<std::uint32_t>(image, told.header + zip::local::size) == told.size);
  CHECK(at<std::uint32_t>(image, told.header + zip::local::stored_size) == told.size);
}

std::vector<Told> told_of(const Bytes& image) {
  const ZipArchive archive(source_of(image));
  CHECK(archive.findings().empty());
  std::vector<Told> all;
  for (const ZipEntry& entry : archive.entries()) all.emplace_back(image, archive, entry);
  return all;
}

/// Gives each record a version, a moment and attributes of its own.
Bytes with_particulars(Bytes image) {
  const std::vector<Told> all = told_of(image);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i);
    for (const std::uint64_t place : {all[i].row + version_in_row, all[i].header + version_in_local}) {
      store(image.data() + place, static_cast<std::uint16_t>(20 + i), std::endian::little);
    }
    for (const std::uint64_t place : {all[i].row + moment_in_row, all[i].header + moment_in_local}) {
      store(image.data() + place, 0x5a210000U + number, std::endian::little);
    }
    store(image.data() + all[i].row + attributes_in_row, 0x81a40000U + number, std::endian::little);
  }
  return image;
}

const Bytes first = bytes_of("the first record");
const Bytes longer = bytes_of("what the first record becomes, which is longer");
const Bytes unsummed = bytes_of("a record without a sum");
const Bytes packed = bytes_of("a record that is packed: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
const Bytes plain = bytes_of("a record without descriptor");
const Bytes other = bytes_of("a record that stays");

Bytes archive_of_all_kinds() {
  ArchiveWriter writer;
  writer.add("a/first", first);
  writer.add("a/unsummed", unsummed, {.has_crc = false});
  writer.add("a/packed", packed, {.is_deflated = true});
  writer.add("a/plain", plain, {.has_descriptor = false});
  writer.add("a/other", other);
  writer.finish("a comment");
  return with_particulars(writer.bytes());
}

}  // namespace

TEST_CASE("what an edit writes anew says the same in its header and in the directory, and keeps all that it can") {
  const Bytes image = archive_of_all_kinds();
  const std::vector<Told> before = told_of(image);
  const ZipArchive archive(source_of(image));
  ZipChange change(archive);
  change.replace(archive.entries()[0], longer, "first");
  change.replace(archive.entries()[1], longer, "unsummed");
  change.replace(archive.entries()[2], longer, "packed");
  change.patch({archive.record(archive.entries()[3]).payload.offset + 2, 6}, bytes_of("RECORD"), "plain");
  change.add("a/new", bytes_of("a new record"));
  const FileChange made = std::move(change).finish();
  CHECK(made.append->meaning == "first");
  const Bytes after = applied(image, made);

  const std::vector<Bytes> contents = {
      longer, longer, longer, bytes_of("a RECORD without descriptor"), other, bytes_of("a new record")};
  const ZipArchive read(source_of(after));
  const std::vector<Told> now = told_of(after);
  REQUIRE(now.size() == 6);
  for (std::size_t i = 0; i < now.size(); ++i) {
    INFO(now[i].name);
    require_alike(after, now[i]);
    CHECK(read.read(read.entries()[i], 1000) == contents[i]);
    CHECK(now[i].crc == (i == 1 ? 0 : crc32(contents[i])));
    const bool is_anew = i < 3 || i == 5;
    if (is_anew) {
      CHECK(now[i].payload % 64 == 0);
      CHECK(now[i].method == zip::stored);
      CHECK(now[i].flags == zip::flag_utf8);
      CHECK(now[i].header >= image.size());
      CHECK(now[i].extra_size == 0);
    }
    if (i == 5) continue;
    CHECK(now[i].name == before[i].name);
    CHECK(now[i].version == before[i].version);
    CHECK(now[i].moment == before[i].moment);
    CHECK(now[i].made_by == before[i].made_by);
    CHECK(now[i].attributes == before[i].attributes);
    if (!is_anew) CHECK(now[i].header == before[i].header);
    if (!is_anew) CHECK(now[i].flags == before[i].flags);
  }
  CHECK(now[5].name == "a/new");
  CHECK(now[5].attributes == 0);
  CHECK(as_text(read.comment()) == "a comment");
}

TEST_CASE("the three records at an archive's end say where the directory is, how long, and of how many records") {
  const Bytes image = archive_of_all_kinds();
  const ZipArchive archive(source_of(image));
  ZipChange change(archive);
  change.replace(archive.entries()[0], longer, "first");
  change.add("a/new", first);
  change.add("a/newer", other);
  const FileChange made = std::move(change).finish();
  const Bytes& end = made.append->commit;
  REQUIRE(end.size() == 98 + std::string("a comment").size());
  const std::uint64_t end_at = image.size() + made.append->body.size();
  const Bytes after = applied(image, made);
  const std::uint64_t directory = ZipArchive(source_of(after)).directory_offset();
  const std::uint64_t size = end_at - directory;
  CHECK(at<std::uint32_t>(end, 0) == zip::end64_signature);
  CHECK(at<std::uint64_t>(end, 4) == 44);
  CHECK(at<std::uint16_t>(end, 12) == 45);
  CHECK(at<std::uint16_t>(end, 14) == 45);
  CHECK(at<std::uint64_t>(end, 16) == 0);
  CHECK(at<std::uint64_t>(end, 24) == 7);
  CHECK(at<std::uint64_t>(end, 32) == 7);
  CHECK(at<std::uint64_t>(end, 40) == size);
  CHECK(at<std::uint64_t>(end, 48) == directory);
  CHECK(at<std::uint32_t>(end, 56) == zip::locator_signature);
  CHECK(at<std::uint32_t>(end, 60) == 0);
  CHECK(at<std::uint64_t>(end, 64) == end_at);
  CHECK(at<std::uint32_t>(end, 72) == 1);
  CHECK(at<std::uint32_t>(end, 76) == zip::end_signature);
  CHECK(at<std::uint32_t>(end, 80) == 0);
  CHECK(at<std::uint16_t>(end, 84) == 7);
  CHECK(at<std::uint16_t>(end, 86) == 7);
  CHECK(at<std::uint32_t>(end, 88) == size);
  CHECK(at<std::uint32_t>(end, 92) == directory);
  CHECK(at<std::uint16_t>(end, 96) == 9);
}

TEST_CASE("a place beyond 4 GiB is told in 64 bits, from the first that 32 bits cannot tell") {
  const auto image_of = [](std::uint64_t hole) {
    ArchiveWriter writer;
    writer.add("a/first", first);
    writer.add_hole("a/hole", hole);
    writer.finish();
    return writer.image();
  };
  constexpr std::uint64_t some = 4'000'000'000;
  const std::uint64_t around = image_of(some)->size() - some;
  for (const std::uint64_t header : {0xfffffffeULL, 0xffffffffULL, 0x100000000ULL}) {
    INFO(header);
    const auto image = image_of(header - around);
    REQUIRE(image->size() == header);
    const ZipArchive archive(image);
    ZipChange change(archive);
    change.replace(archive.entries()[0], longer, "first");
    change.add("a/new", other);
    image->apply(std::move(change).finish());
    const ZipArchive after(image);
    CHECK(after.entries()[0].header == header);
    CHECK(after.entries()[2].header > header);
    CHECK(after.read(after.entries()[0], 1000) == longer);
    CHECK(after.read(after.entries()[2], 1000) == other);
    const Bytes row = image->read({after.directory_offset() + after.entries()[0].row, zip::row_size});
    CHECK(at<std::uint32_t>(row, zip::row::offset) == std::min<std::uint64_t>(header, 0xffffffff));
    CHECK(at<std::uint16_t>(row, zip::row::extra_size) == (header < 0xffffffff ? 0 : 12));
  }
}

TEST_CASE("a patch stays in the data of one record") {
  const Bytes image = archive_of_all_kinds();
  const ZipArchive archive(source_of(image));
  const auto problem = [&](Span place) {
    ZipChange change(archive);
    try {
      change.patch(place, Bytes(place.size), "x");
    } catch (const Error& error) {
      CHECK(error.status == Status::internal);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string not_data = "a patch outside the data of its record";
  const std::string no_record = "a patch outside every record of a zip archive";
  for (const std::size_t number : {3U, 4U}) {
    const Span payload = archive.record(archive.entries()[number]).payload;
    CHECK(problem(payload).empty());
    CHECK(problem({payload.end() - 1, 1}).empty());
    CHECK(problem({payload.end() - 1, 2}) == not_data);
    CHECK(problem({payload.offset - 1, 1}) == not_data);
    CHECK(problem({archive.entries()[number].header, 1}) == not_data);
  }
  CHECK(problem({archive.directory_offset() - 1, 1}) == not_data);  // the descriptor of the last record
  CHECK(problem({archive.directory_offset(), 1}) == no_record);
  CHECK(problem({image.size() - 1, 1}) == no_record);
}

TEST_CASE("two patches of the same bytes are no archive with a wrong CRC, but an error") {
  const Bytes image = archive_of_all_kinds();
  const ZipArchive archive(source_of(image));
  const std::uint64_t begin = archive.record(archive.entries()[3]).payload.offset;
  const auto patched = [&](std::uint64_t one, std::uint64_t next) {
    ZipChange change(archive);
    change.patch({begin + one, 4}, bytes_of("ABCD"), "one");
    change.patch({begin + next, 4}, bytes_of("EFGH"), "next");
    return std::move(change).finish().patches.size();
  };
  CHECK(patched(2, 6) > 0);
  CHECK(patched(6, 2) > 0);
  for (const std::uint64_t next : {std::uint64_t{2}, std::uint64_t{5}, std::uint64_t{0}}) {
    CHECK_THROWS_WITH(patched(2, next), Catch::Contains("two changes of the bytes at offset"));
  }
}

TEST_CASE("a wrong checksum of a record of 64 KiB is noticed before it is patched, and of a longer one passed on") {
  for (const std::size_t size : {65'535U, 65'536U, 65'537U}) {
    INFO(size);
    const Bytes content(size, std::byte{7});
    ArchiveWriter writer;
    writer.add("a/first", content);
    writer.finish();
    Bytes image = writer.bytes();
    {
      const ZipArchive archive(source_of(image));
      image[archive.record(archive.entries()[0]).payload.offset] = std::byte{8};
    }
    const ZipArchive archive(source_of(image));
    const std::uint64_t begin = archive.record(archive.entries()[0]).payload.offset;
    ZipChange change(archive);
    if (size <= 65'536) {
      CHECK_THROWS_AS(change.patch({begin + 9, 1}, bytes_of("x"), "x"), Error);
      continue;
    }
    change.patch({begin + 9, 1}, bytes_of("x"), "x");
    const Bytes after = applied(image, std::move(change).finish());
    Bytes sound = content;
    sound[9] = std::byte{'x'};
    CHECK(ZipArchive(source_of(after)).entries()[0].crc == crc32(sound));  // as wrong as it was
  }
}

TEST_CASE("where a file can only grow, patched records of 32 MiB are sent anew, and not a byte more") {
  for (const std::size_t more : {0U, 1U}) {
    const Bytes small(1000 + more, std::byte{1});
    const Bytes large(limits::max_tensor_read_bytes - 1000, std::byte{2});
    ArchiveWriter writer;
    writer.add("a/small", small);
    writer.add("a/large", large);
    writer.finish();
    const Bytes image = writer.bytes();
    const ZipArchive archive(std::make_shared<GrowingSource>(image));
    ZipChange change(archive);
    REQUIRE(change.moves_patched_records());
    for (std::size_t i = 0; i < 2; ++i) {
      const Span payload = archive.record(archive.entries()[i]).payload;
      change.patch({payload.end() - 1, 1}, bytes_of("x"), "the last byte of " + std::string(archive.entries()[i].name));
    }
    if (more == 1) {
      CHECK_THROWS_AS(std::move(change).finish(), Error);
      continue;
    }
    const FileChange made = std::move(change).finish();
    CHECK(made.patches.empty());
    CHECK(made.append->meaning == "the last byte of a/small");
    const Bytes after = applied(image, made);
    CHECK(std::equal(image.begin(), image.end(), after.begin()));
    const ZipArchive read(source_of(after));
    for (std::size_t i = 0; i < 2; ++i) {
      Bytes wanted = i == 0 ? small : large;
      wanted.back() = std::byte{'x'};
      CHECK(read.read(read.entries()[i], image.size()) == wanted);
      CHECK(read.entries()[i].crc == crc32(wanted));
    }
  }
}
