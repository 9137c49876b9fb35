// The checksum in MindSpore's safetensors, held against MindSpore's own rule, computed plainly.
#include "lib/container/safetensors/mindspore_checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/container/safetensors/safetensors.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

/// A file as MindSpore writes it: a large tensor of zeros, a counter, a scale; with that text as its checksum.
Bytes made(std::string_view checksum, std::size_t large, std::string_view spaces = "") {
  const std::string json = fmt::format(
      R"({{"__metadata__":{{"crc_num":"{}","format":"ms"}},"a.weight":{{"dtype":"U8","shape":[{}],"data_offsets":[0,{}]}},)"
      R"("current_iterator_step":{{"dtype":"I32","shape":[],"data_offsets":[{},{}]}},)"
      R"("scale_sense":{{"dtype":"F32","shape":[],"data_offsets":[{},{}]}}}}{})",
      checksum, large, large, large, large + 4, large + 4, large + 8, spaces);
  Bytes image;
  append_le(image, static_cast<std::uint64_t>(json.size()));
  const ByteView text = as_bytes(json);
  std::copy(text.begin(), text.end(), std::back_inserter(image));
  image.resize(image.size() + large);
  append_le(image, std::int32_t{7});
  append_le(image, 1024.0f);
  return image;
}

/// serialization.py: binascii.crc32 over bytes(name) and bytes(array), name by name.
std::uint32_t by_rule(const Bytes& image) {
  const MemorySource source("image", image);
  SafetensorsHeader header = read_safetensors_header(source);
  std::sort(header.entries.begin(), header.entries.end(),
            [&](const auto& a, const auto& b) { return header.name(a) < header.name(b); });
  Bytes all;
  for (const SafetensorsEntry& entry : header.entries) {
    const ByteView name = as_bytes(header.name(entry));
    all.insert(all.end(), name.begin(), name.end());
    const Bytes data = source.read(entry.place);
    if (entry.shape.count == 0 && entry.type().name == "int32") {
      all.resize(all.size() + static_cast<std::size_t>(load_le<std::int32_t>(data.data())));
    } else {
      all.insert(all.end(), data.begin(), data.end());
    }
  }
  return crc32(all);
}

std::string checksum_of(const Bytes& image) {
  return std::string(mindspore_checksum(read_safetensors_header(MemorySource("image", image))));
}

/// The image with its own checksum in it.
Bytes sealed(std::size_t large, std::string_view spaces = "") {
  return made(std::to_string(by_rule(made("0", large))), large, spaces);
}

/// Of several images one whose checksum has nine digits, where most have ten.
Bytes sealed_with_nine_digits(std::string_view spaces) {
  for (std::size_t large = 1;; ++large) {
    Bytes image = sealed(large, spaces);
    if (checksum_of(image).size() == 9) return image;
  }
}

Bytes edited(const Bytes& image, std::string_view name, std::variant<Integer, double> value) {
  const auto container = open_image(image);
  NodeChange change{node_at(container->tree(), {name}), 0.0, "a new value"};
  std::visit([&](const auto& number) { change.value = number; }, value);
  return applied(image, container->change({&change, 1}));
}

bool holds(const Bytes& image) {
  return std::stoull(checksum_of(image)) == by_rule(image);
}

constexpr std::size_t beyond_reading = (32 << 20) + 1;

}  // namespace

TEST_CASE("the checksum that MindSpore wrote is that of its rule") {
  Bytes image = corpus_bytes("mindspore/dynamic_cell_safetensors_crc/net.safetensors");
  CHECK(holds(image));
  CHECK(open_image(image)->findings().empty());
  image.back() ^= std::byte{1};
  REQUIRE(open_image(image)->findings().size() == 1);
  CHECK(open_image(image)->findings()[0].code == "crc-mismatch");
  CHECK_THROWS_AS(edited(image, "scale_sense", 512.0), Error);
}

TEST_CASE("an edit of MindSpore's safetensors leaves a checksum that holds, of the same number of digits") {
  const Bytes image = corpus_bytes("mindspore/dynamic_cell_safetensors_crc/net.safetensors");
  for (const double scale : {1.0, 512.0, 4096.0, 1e30, 3.0e-5}) {
    const Bytes after = edited(image, "scale_sense", scale);
    CHECK(holds(after));
    CHECK(after.size() == image.size());
  }
  for (const std::int64_t step : {0, 1, 5, 300, 1'000'000}) {
    CHECK(holds(edited(image, "current_iterator_step", Integer{step, {}})));
  }
  CHECK_THROWS_AS(edited(image, "current_iterator_step", Integer{-1, {}}), Error);
}

TEST_CASE("a checksum with fewer digits gets zeros in front, one with more takes a space from the header's end") {
  const Bytes image = sealed_with_nine_digits("  ");
  bool was_shorter = false;
  bool was_longer = false;
  for (double scale = 1; scale < 400; ++scale) {
    const Bytes after = edited(image, "scale_sense", scale);
    REQUIRE(after.size() == image.size());
    REQUIRE(holds(after));
    was_shorter = was_shorter || checksum_of(after).front() == '0';
    was_longer = was_longer || checksum_of(after).size() == 10;
  }
  CHECK(was_shorter);
  CHECK(was_longer);
}

TEST_CASE("where the header has no room for the checksum, the edit is refused") {
  const Bytes image = sealed_with_nine_digits("");
  std::size_t refused = 0;
  for (double scale = 1; scale < 100; ++scale) {
    try {
      const Bytes after = edited(image, "scale_sense", scale);
      REQUIRE(holds(after));
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("of a large file the checksum follows by algebra; what counts bytes cannot be changed") {
  const Bytes image = sealed(beyond_reading);
  const Bytes after = edited(image, "scale_sense", 4096.0);
  CHECK(holds(after));
  CHECK(open_image(image)->findings().empty());
  CHECK_THROWS_AS(edited(image, "current_iterator_step", Integer{8, {}}), Error);
}
