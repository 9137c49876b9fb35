// An element that another tensor shows, too, gets a storage of its own, however the pickle that describes it is
// written.
#include <algorithm>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/container/zip/zip.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

enum class Memo { none, text, binary, wide };

std::string little(std::uint32_t number) {
  Bytes bytes;
  append_le(bytes, number);
  return std::string(as_text(bytes));
}

/// Writes what torch's pickler would, each text and tuple into a slot of its own.
class Writer {
 public:
  explicit Writer(Memo memo) : memo_(memo) {}

  std::string put() {
    const std::uint32_t slot = slots_++;
    switch (memo_) {
      case Memo::none:
        return "";
      case Memo::text:
        return "p" + std::to_string(slot) + "\n";
      case Memo::binary:
        return "q"s + static_cast<char>(slot);
      case Memo::wide:
        return "r" + little(slot);
    }
    return "";
  }
  std::string text(const std::string& value) {
    return "X" + little(static_cast<std::uint32_t>(value.size())) + value + put();
  }

  /// One element of storage 0.
  std::string scalar(int offset) {
    return "ctorch._utils\n_rebuild_tensor_v2\n" + put() + "((" + text("storage") + "ctorch\nFloatStorage\n" + put() +
           text("0") + text("cpu") + "K\4t" + put() + "QK" + static_cast<char>(offset) + "))\x89" +
           "ccollections\nOrderedDict\n" + put() + ")R" + put() + "t" + put() + "R" + put();
  }
  std::string pickle(const std::string& first, const std::string& second) {
    return "\x80\x02}" + put() + "(" + text("a") + first + text("b") + second + "u.";
  }

 private:
  Memo memo_;
  std::uint32_t slots_ = 0;
};

Bytes archive_of(const std::string& pickle) {
  Bytes elements;
  for (const float value : {1.0F, 2.0F, 3.0F, 4.0F}) append_le(elements, value);
  ArchiveWriter zip;
  zip.add("m/data.pkl", bytes_of(pickle));
  zip.add("m/byteorder", as_bytes("little"));
  zip.add("m/data/0", elements);
  zip.add("m/version", as_bytes("3\n"));
  zip.finish();
  return zip.bytes();
}

double value_of(const Container& container, std::string_view key) {
  return container.tree().value(node_at(container.tree(), {key}), 1).as_double();
}

Bytes edited(const Bytes& image, std::string_view key, double value) {
  const auto container = open_image(image);
  const NodeChange change{node_at(container->tree(), {key}), value, "scale"};
  return applied(image, container->change({&change, 1}));
}

}  // namespace

TEST_CASE("an element that two tensors show changes in the one alone, in a storage of its own") {
  for (const Memo memo : {Memo::none, Memo::text, Memo::binary, Memo::wide}) {
    for (const int offset : {0, 2}) {
      INFO("memo " << static_cast<int>(memo) << ", element " << offset);
      Writer writer(memo);
      const Bytes image = archive_of(writer.pickle(writer.scalar(offset), writer.scalar(offset)));
      const auto before = open_image(image);
      CHECK(before->findings().empty());
      CHECK(value_of(*before, "a") == offset + 1);
      for (const std::string_view key : {"a", "b"}) {
        const Bytes after = edited(image, key, 1024);
        const auto again = open_image(after);
        CHECK(value_of(*again, key) == 1024);
        CHECK(value_of(*again, key == "a" ? "b" : "a") == offset + 1);
        CHECK(again->findings().empty());
        const ZipArchive archive(std::make_shared<MemorySource>("image", after));
        REQUIRE(archive.entries().size() == 5);
        const ZipEntry& added = archive.entries()[4];
        CHECK(added.name.starts_with("m/data/"));
        const Bytes own = archive.read(added, 100);
        REQUIRE(own.size() == 4);
        CHECK(load_le<float>(own.data()) == 1024);
        CHECK(added.crc == crc32(own));
        CHECK(archive.read(*archive.find("m/data/0"), 100).size() == 16);
        // Once it is alone it changes where it stands.
        const Bytes twice = edited(after, key, 2048);
        CHECK(twice.size() == after.size());
        CHECK(value_of(*open_image(twice), key) == 2048);
      }
    }
  }
}

TEST_CASE("elements that only stand side by side in one storage change where they stand") {
  Writer writer(Memo::binary);
  const Bytes image = archive_of(writer.pickle(writer.scalar(0), writer.scalar(2)));
  const Bytes after = edited(image, "b", 1024);
  CHECK(after.size() == image.size());
  CHECK(value_of(*open_image(after), "a") == 1);
  CHECK(value_of(*open_image(after), "b") == 1024);
}

TEST_CASE("a tensor whose storage's key another one fetches from the memo is not parted from it") {
  Writer writer(Memo::binary);
  const std::string first = writer.scalar(0);
  std::string second = writer.scalar(0);
  const std::string key =
      "X\1\0\0\0"
      "0q"s;
  const std::size_t in_first = first.find(key);
  const std::size_t in_second = second.find(key);
  REQUIRE(in_first != std::string::npos);
  REQUIRE(in_second != std::string::npos);
  second.replace(in_second, key.size() + 1, "h"s + first[in_first + key.size()]);
  const Bytes image = archive_of(Writer(Memo::binary).pickle(first, second));
  CHECK(value_of(*open_image(image), "b") == 1);
  CHECK_THROWS_AS(edited(image, "a", 1024), Error);
}

TEST_CASE("a tensor that is described by the very parts of another one is not parted from it") {
  Writer writer(Memo::binary);
  const std::string first = writer.scalar(0);
  std::string id = first.substr(first.find("((") + 1);
  id.resize(id.find('Q') + 1);  // ( "storage" class key device count TUPLE BINPUT BINPERSID
  const std::string slot = id.substr(id.size() - 2, 1);
  const std::string arguments = first.substr(first.find("(("), first.rfind("tq") - first.find("(("));
  const std::string arguments_slot = first.substr(first.rfind("tq") + 2, 1);
  for (const auto& [written, fetched] :
       {std::pair{id, "h" + slot + "Q"}, {arguments + "tq" + arguments_slot, "h" + arguments_slot}}) {
    std::string second = first;
    const std::size_t at = second.find(written);
    REQUIRE(at != std::string::npos);
    second.replace(at, written.size(), fetched);
    const Bytes image = archive_of(Writer(Memo::binary).pickle(first, second));
    REQUIRE(value_of(*open_image(image), "b") == 1);
    for (const std::string_view key : {"a", "b"}) CHECK_THROWS_AS(edited(image, key, 1024), Error);
  }
}

TEST_CASE("an array that is filled with the very state of another one is not changed along with it") {
  const std::string made = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tC\1btR"s;
  const std::string type = "cnumpy\ndtype\n(X\2\0\0\0f4\x89\x88tR(K\3X\1\0\0\0<NNNK\0K\0K\0tb"s;
  const std::string state = "(K\1(K\1t" + type + "\x89" + "C\4\0\0\x80\x3ftq\x40"s;
  const auto pickle = [&](const std::string& second) {
    return bytes_of("\x80\3}(X\1\0\0\0a"s + made + state + "bX\1\0\0\0b"s + made + second + "bu."s);
  };
  CHECK(value_of(*open_image(edited(pickle(state), "a", 2)), "b") == 1);
  REQUIRE(value_of(*open_image(pickle("h\x40")), "b") == 1);
  CHECK_THROWS_AS(edited(pickle("h\x40"), "a", 2), Error);
}

TEST_CASE("a storage of its own is described by as many elements as it has") {
  Writer writer(Memo::binary);
  const Bytes image = archive_of(writer.pickle(writer.scalar(1), writer.scalar(1)));
  const Bytes after = edited(image, "a", 7);
  const ZipArchive archive(std::make_shared<MemorySource>("image", after));
  const Bytes pickle = archive.read(*archive.find("m/data.pkl"), 10'000);
  const std::string_view all = as_text(pickle);
  const std::string key(archive.entries()[4].name.substr(std::string_view("m/data/").size()));
  const std::size_t at = all.find("X" + little(static_cast<std::uint32_t>(key.size())) + key);
  REQUIRE(at != std::string_view::npos);
  const std::size_t count = all.find('K', all.find("cpu", at));
  CHECK(all[count + 1] == 1);
  CHECK(all.substr(all.find('Q', count), 3) == "QK\0"s);  // and begins with its first
}
