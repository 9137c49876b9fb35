// Datasets that h5py wrote (tests/data/make_states.py), however they are stored; and blocks that are damaged.
#include "lib/hdf5/values.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/hdf5/dataset.hpp"
#include "lib/hdf5/filters.hpp"
#include "lib/hdf5/group.hpp"
#include "lib/hdf5/layout.hpp"
#include "lib/hdf5/superblock.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;
using Index = Hdf5Layout::Index;

namespace {

constexpr std::uint64_t plenty = 1 << 20;

std::shared_ptr<const Source> state(const std::string& name) {
  return std::make_shared<FileSource>(TARE_TEST_SOURCE "/data/states/" + name);
}

/// The header of what stands at that path.
Hdf5Header header_at(Hdf5File& file, const std::vector<std::string>& path) {
  Hdf5Header header = read_hdf5_header(file, read_hdf5_superblock(file).root);
  for (const std::string& name : path) {
    const std::vector<Hdf5Link> links = read_hdf5_links(file, header, {});
    const auto link = std::ranges::find(links, name, &Hdf5Link::name);
    REQUIRE(link != links.end());
    header = read_hdf5_header(file, link->header);
  }
  return header;
}

std::string why_not(const std::shared_ptr<const Source>& source, std::uint64_t most) {
  try {
    Hdf5File file(source);
    read_hdf5_values(file, header_at(file, {"fields", "history"}), most);
  } catch (const Hdf5NotRead& problem) {
    return problem.why;
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

Bytes image_of(const std::string& name) {
  const auto source = state(name);
  return source->read({0, source->size()});
}

std::string text_of(ByteView bytes) {
  return std::string(as_text(bytes));
}

}  // namespace

TEST_CASE("each index of chunks leads to the same values") {
  const std::pair<const char*, Index> files[] = {
      {"h5py.h5", Index::btree1},         {"h5py_single.h5", Index::single},     {"h5py_latest.h5", Index::fixed_array},
      {"h5py_growing.h5", Index::btree2}, {"h5py_plain.h5", Index::fixed_array},
  };
  for (const auto& [name, index] : files) {
    INFO(name);
    Hdf5File file(state(name));
    const Hdf5Header header = header_at(file, {"fields", "history"});
    CHECK(read_hdf5_layout(header.data(*header.find(Hdf5MessageType::layout))).index == index);
    const Bytes values = read_hdf5_values(file, header, plenty);
    REQUIRE(values.size() == 750 * sizeof(float));
    for (std::size_t i = 0; i < 750; ++i) {
      REQUIRE(load_le<float>(values.data() + i * sizeof(float)) == static_cast<float>(i % 97) * 0.25F);
    }
  }
}

TEST_CASE("more values than are allowed, and chunks of more, are not read") {
  CHECK(why_not(state("h5py.h5"), 2999) == "3000 bytes of values, more than there can be");
  CHECK(why_not(state("h5py.h5"), 3000).empty());
  CHECK(why_not(state("h5py.h5"), plenty).empty());
}

TEST_CASE("a damaged index or chunk is told, with the place where there is one") {
  Bytes image = image_of("h5py_latest.h5");
  const auto at = text_of(image).find("FADB");
  REQUIRE(at != std::string::npos);
  image[at + 20] ^= std::byte{1};
  const auto damaged = std::make_shared<MemorySource>("x.h5", std::move(image));
  CHECK(why_not(damaged, plenty) ==
        "x.h5: HDF5: the checksum of the fixed array at offset " + std::to_string(at) + " is wrong");
}

TEST_CASE("filters are undone in their order, and what they left out is not") {
  const Hdf5Filter shuffle{2, {2}};
  const Hdf5Filter fletcher{3, {}};
  const Bytes shuffled{std::byte{1}, std::byte{3}, std::byte{5}, std::byte{2}, std::byte{4}, std::byte{6}};
  const Bytes plain{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}, std::byte{6}};
  Bytes out(6);
  undo_hdf5_filters(shuffled, {shuffle}, 0, out);
  CHECK(out == plain);
  undo_hdf5_filters(plain, {shuffle}, 1, out);
  CHECK(out == plain);
  // 0x0103 + 0x0502 + 0x0406 = 0x0a0b; 0x0103 + 0x0605 + 0x0a0b = 0x1113
  Bytes sealed = shuffled;
  append_le(sealed, std::uint32_t{0x11130a0b});
  undo_hdf5_filters(sealed, {shuffle, fletcher}, 0, out);
  CHECK(out == plain);
  sealed[0] ^= std::byte{1};
  CHECK_THROWS_AS(undo_hdf5_filters(sealed, {shuffle, fletcher}, 0, out), Hdf5NotRead);
  CHECK_THROWS_AS(undo_hdf5_filters(plain, {{4, {}}}, 0, out), Hdf5NotRead);  // szip
  CHECK_THROWS_AS(undo_hdf5_filters(ByteView(plain).first(5), {}, 0, out), Hdf5NotRead);
  CHECK_THROWS_AS(undo_hdf5_filters(plain, {{1, {}}, {32015, {}}}, 0, out), Hdf5NotRead);
}

TEST_CASE("many links are found in their heap, in the order in which they were made or by name") {
  for (const auto& [name, first] : {std::pair("tare.h5", "flag"), std::pair("h5py_latest.h5", "flag")}) {
    INFO(name);
    Hdf5File file(state(name));
    const std::vector<Hdf5Link> links = read_hdf5_links(file, header_at(file, {"params"}), {});
    CHECK(links.size() == 16);
    CHECK(links.front().name == first);
    CHECK(links.front().order.has_value() == (std::string(name) == "tare.h5"));
  }
}

TEST_CASE("any byte of a heap or its index that is changed is told") {
  const Bytes whole = image_of("h5py_latest.h5");
  for (const char* signature : {"FRHP", "FHDB", "BTHD", "BTLF"}) {
    INFO(signature);
    const auto at = text_of(whole).find(signature);
    REQUIRE(at != std::string::npos);
    Bytes image = whole;
    image[at + 5] ^= std::byte{1};
    const auto read = [&] {
      Hdf5File file(std::make_shared<MemorySource>("x.h5", image));
      read_hdf5_links(file, header_at(file, {"params"}), {});
    };
    try {
      read();
      CHECK(false);
    } catch (const Hdf5NotRead&) {
      CHECK(true);
    } catch (const Error& error) {
      CHECK(error.status == Status::corrupt);
    }
  }
}
