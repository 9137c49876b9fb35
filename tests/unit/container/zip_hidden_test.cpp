// Archives in which one reader finds more than another.
#include "lib/container/zip/hidden.hpp"

#include <iterator>

#include "lib/base/crc32.hpp"
#include "lib/container/container.hpp"
#include "lib/container/zip/change.hpp"
#include "lib/container/zip/layout.hpp"
#include "lib/container/zip/new_zip.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

std::vector<std::string> hidden_in(Bytes image) {
  return hidden_in_zip(ZipArchive(std::make_shared<MemorySource>("a.zip", std::move(image)))).told;
}

void add_at(Bytes& image, std::size_t at, std::uint32_t number) {
  store(image.data() + at, load_le<std::uint32_t>(image.data() + at) + number, std::endian::little);
}

/// An archive of "a/data.pkl" and "a/version", and where its directory begins.
struct Archive {
  Bytes image = new_zip({{"a/data.pkl", bytes_of("N.")}, {"a/version", bytes_of("3")}}, 64);
  std::size_t directory = ZipArchive(std::make_shared<MemorySource>("a.zip", image)).directory_offset();

  std::size_t end_record() const { return image.size() - zip::end_size; }
  std::size_t row(std::size_t number) const {
    const auto source = std::make_shared<MemorySource>("a.zip", image);
    return directory + ZipArchive(source).entries()[number].row;
  }
};

/// `name` with another content, as an edit that needs room for it.
Bytes replaced(const Bytes& image, std::string_view name, const Bytes& content) {
  const ZipArchive archive(std::make_shared<MemorySource>("a.zip", image));
  ZipChange change(archive);
  change.replace(*archive.find(name), content, "a value");
  return applied(image, std::move(change).finish());
}

/// What an earlier version of a pickle names.
std::string former_names(const Bytes& image) {
  std::string all;
  for (const InnerDocument& inner : open_image(image)->inner_documents()) {
    CHECK(inner.inside == "a/data.pkl (an earlier version)");
    CHECK(inner.is_former);
    if (inner.container == nullptr) return inner.problem;
    for (const GlobalName& global : inner.container->globals()) all += global.module + "." + global.name + " ";
  }
  return all;
}

bool tells(const std::vector<std::string>& told, std::string_view what) {
  return told.size() == 1 && told.front().find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("real archives hide nothing") {
  for (const char* file : {"torch/train-t2.15/checkpoint.pth", "numpy/npz_flat/state.npz", "flax/jmp_npz/state.npz"}) {
    INFO(file);
    CHECK(hidden_in(corpus_bytes(file)).empty());
  }
  CHECK(hidden_in(Archive().image).empty());
}

TEST_CASE("bytes before the first record, between records and before the directory are told") {
  for (const std::size_t which : {0U, 1U, 2U}) {
    Archive archive;
    const std::size_t second = ZipArchive(std::make_shared<MemorySource>("a", archive.image)).entries()[1].header;
    const std::size_t at = which == 0 ? 0 : which == 1 ? second : archive.directory;
    const Bytes hidden = bytes_of("cos\ngetcwd\n)R.");
    const auto grown = static_cast<std::uint32_t>(hidden.size());
    if (which == 0) add_at(archive.image, archive.row(0) + zip::row::offset, grown);
    if (which <= 1) add_at(archive.image, archive.row(1) + zip::row::offset, grown);
    add_at(archive.image, archive.end_record() + 16, grown);
    archive.image.insert(archive.image.begin() + static_cast<std::ptrdiff_t>(at), hidden.begin(), hidden.end());
    INFO(which);
    CHECK(
        tells(hidden_in(archive.image), which == 0 ? "14 bytes stand before its first record" : "14 bytes at offset"));
  }
}

TEST_CASE("a comment, an unknown extra field, a local header that says otherwise are told") {
  Archive commented;
  store(commented.image.data() + commented.end_record() + 20, std::uint16_t{3}, std::endian::little);
  for (const char c : {'a', 'b', 'c'}) commented.image.push_back(static_cast<std::byte>(c));
  CHECK(tells(hidden_in(commented.image), "a comment of 3 bytes"));

  Archive extra;
  const std::size_t extra_at = zip::local_size + std::string_view("a/data.pkl").size();
  store(extra.image.data() + extra_at, std::uint16_t{0x1234}, std::endian::little);
  CHECK(tells(hidden_in(extra.image), "unknown extra fields"));

  for (const std::size_t field : {zip::local::crc, zip::local::stored_size}) {
    Archive other;
    add_at(other.image, field, 1);
    CHECK(tells(hidden_in(other.image), "its local header contradicts the directory"));
  }
}

TEST_CASE("what stands behind the data of a record that promises a descriptor has to be one, and true") {
  Archive archive;
  const std::size_t second = ZipArchive(std::make_shared<MemorySource>("a", archive.image)).entries()[1].header;
  Bytes descriptor;
  append_le(descriptor, zip::descriptor_signature);
  append_le(descriptor, crc32(bytes_of("N.")));
  append_le(descriptor, std::uint32_t{2});
  append_le(descriptor, std::uint32_t{2});
  add_at(archive.image, archive.row(1) + zip::row::offset, 16);
  add_at(archive.image, archive.end_record() + 16, 16);
  archive.image[zip::local::flags] |= static_cast<std::byte>(zip::flag_descriptor);
  archive.image.insert(archive.image.begin() + static_cast<std::ptrdiff_t>(second), descriptor.begin(),
                       descriptor.end());
  CHECK(hidden_in(archive.image).empty());
  archive.image[second + 8] = std::byte{3};
  CHECK(tells(hidden_in(archive.image), "contradicts the directory"));
}

TEST_CASE("what an edit leaves behind when it appends is an earlier version, and hides nothing") {
  Bytes image = Archive().image;
  for (const std::size_t edits : {1u, 2u, 3u}) {
    INFO(edits);
    image = replaced(image, "a/data.pkl", bytes_of(std::string(edits, 'N') + std::string(edits - 1, '0') + "."));
    const ZipArchive archive(std::make_shared<MemorySource>("a.zip", image));
    const HiddenInZip found = hidden_in_zip(archive);
    CHECK(found.told.empty());
    REQUIRE(found.former.size() == edits);
    for (const FormerMember& former : found.former) CHECK(former.entry->name == "a/data.pkl");
  }
  image = replaced(image, "a/version", bytes_of("30"));
  CHECK(hidden_in(image).empty());
}

TEST_CASE("a record that is patched after an edit does not make the older directory a lie") {
  Bytes image = replaced(Archive().image, "a/data.pkl", bytes_of("NN0."));
  const ZipArchive archive(std::make_shared<MemorySource>("a.zip", image));
  ZipChange change(archive);
  change.patch(archive.record(*archive.find("a/version")).payload, bytes_of("4"), "a value");
  CHECK(hidden_in(applied(image, std::move(change).finish())).empty());
}

TEST_CASE("an earlier version that no whole archive speaks of is told") {
  const Bytes before = Archive().image;
  Bytes image = replaced(before, "a/data.pkl", bytes_of("NN0."));
  image[before.size() - zip::end_size] = std::byte{'x'};
  const std::vector<std::string> told = hidden_in(image);
  REQUIRE(told.size() == 2);
  CHECK(told.front().find("stand before its first record") != std::string::npos);
  CHECK(told.back().find("are in no record") != std::string::npos);
}

TEST_CASE("an earlier version of a pickle is judged as the one of now") {
  const Bytes harmless = new_zip({{"a/data.pkl", bytes_of("}.")}, {"a/version", bytes_of("3")}}, 64);
  CHECK(former_names(replaced(harmless, "a/data.pkl", bytes_of("}}0."))).empty());
  const Bytes call = new_zip({{"a/data.pkl", bytes_of("cos\nsystem\n(S'id'\ntR.")}, {"a/version", bytes_of("3")}}, 64);
  CHECK(former_names(replaced(call, "a/data.pkl", bytes_of("}."))) == "os.system ");
  const Bytes broken = new_zip({{"a/data.pkl", bytes_of("}}}")}, {"a/version", bytes_of("3")}}, 64);
  CHECK_FALSE(former_names(replaced(broken, "a/data.pkl", bytes_of("}."))).empty());
}
