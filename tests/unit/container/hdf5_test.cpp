// HDF5 files of Keras, and others that h5py wrote in the forms that Keras does not use (tests/fuzz/seeds/make_hdf5.py).

#include <algorithm>

#include "lib/hdf5/checksum.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/container/changed.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

Bytes seed(const std::string& name) {
  const FileSource source(TARE_TEST_SOURCE "/fuzz/seeds/hdf5/" + name + ".h5");
  return source.read({0, source.size()});
}

/// Counts the bytes that are read of it.
class CountedSource final : public Source {
 public:
  explicit CountedSource(Bytes bytes) : memory_("counted", std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return memory_.size(); }
  [[nodiscard]] const std::string& name() const override { return memory_.name(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    taken += to.size();
    memory_.read(offset, to);
  }
  using Source::read;

  mutable std::uint64_t taken = 0;

 private:
  MemorySource memory_;
};

std::string message_of(const Bytes& image) {
  try {
    open_image(image);
  } catch (const Error& error) {
    return error.what();
  }
  return "it opened";
}

void add_checked(Bytes& file, Bytes block) {
  append_le(block, hdf5_checksum(block));
  file.insert(file.end(), block.begin(), block.end());
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes number(std::uint64_t value) {
  Bytes bytes;
  append_le(bytes, value);
  return bytes;
}

/// Superblock 3, a root group whose header links to "a" and goes on in a block that links to "b"; both are empty
/// groups.
Bytes small_hdf5() {
  constexpr std::uint64_t root = 48, more = 95, a = 119, b = 130, end = 141;
  Bytes file;
  add_checked(file, joined({bytes_of("\x89HDF\r\n\x1a\n\x03\x08\x08\0"sv), number(0), number(~std::uint64_t{0}),
                            number(end), number(root)}));
  // Messages: a link (type 6, 12 bytes), a continuation (type 16, 16 bytes).
  const Bytes link_a = joined({bytes_of("\x06\x0c\0\0\x01\0\x01"
                                        "a"sv),
                               number(a)});
  const Bytes link_b = joined({bytes_of("\x06\x0c\0\0\x01\0\x01"
                                        "b"sv),
                               number(b)});
  const Bytes continuation = joined({bytes_of("\x10\x10\0\0"sv), number(more), number(24)});
  add_checked(file, joined({bytes_of("OHDR\x02\0\x24"sv), link_a, continuation}));
  add_checked(file, joined({bytes_of("OCHK"sv), link_b}));
  add_checked(file, bytes_of("OHDR\x02\0\0"sv));
  add_checked(file, bytes_of("OHDR\x02\0\0"sv));
  REQUIRE(file.size() == end);
  return file;
}

/// Superblock 3, a root group whose links "a" and "b" both lead to one float32 of 65536, compact in its header.
Bytes value_of_two_links() {
  constexpr std::uint64_t root = 48, value = 91, end = 146;
  // Scalar; IEEE 754, little-endian; compact, of 4 bytes.
  const Bytes space = bytes_of("\x01\x04\0\0\x02\0\0\0"sv);
  const Bytes type = bytes_of("\x03\x14\0\0\x11\x20\x1f\0\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0"sv);
  const Bytes layout = bytes_of("\x08\x08\0\0\x03\0\x04\0\0\0\x80\x47"sv);
  const Bytes link_a = joined({bytes_of("\x06\x0c\0\0\x01\0\x01"
                                        "a"sv),
                               number(value)});
  const Bytes link_b = joined({bytes_of("\x06\x0c\0\0\x01\0\x01"
                                        "b"sv),
                               number(value)});
  Bytes file;
  add_checked(file, joined({bytes_of("\x89HDF\r\n\x1a\n\x03\x08\x08\0"sv), number(0), number(~std::uint64_t{0}),
                            number(end), number(root)}));
  add_checked(file, joined({bytes_of("OHDR\x02\0\x20"sv), link_a, link_b}));
  add_checked(file, joined({bytes_of("OHDR\x02\0\x2c"sv), space, type, layout}));
  REQUIRE(file.size() == end);
  return file;
}

constexpr Answer answers[] = {
    {"h5_bad_checksum/model.weights.h5", Status::corrupt},
    {"h5_btree_cycle/model.weights.h5", Status::ok, "tree-cycle"},
    {"h5_continuation_cycle/model.weights.h5", Status::ok, "object-not-read"},
    {"h5_external_link/model.weights.h5", Status::ok, "object-not-read"},
    {"h5_external_storage/model.weights.h5", Status::ok, "object-not-read"},
    {"h5_gzip_bomb/model.weights.h5", Status::ok, "object-not-read"},
    {"h5_hard_link_cycle/model.weights.h5", Status::ok, "several-links"},
    {"h5_huge_dims/model.weights.h5", Status::ok, "object-not-read"},
    {"h5_soft_link_cycle/model.weights.h5", Status::ok, "object-not-read"},
    {"h5_tiny/model.weights.h5", Status::corrupt},
    {"h5_truncated/model.weights.h5", Status::corrupt},
    {"h5_vlen_length/model.h5", Status::ok, "attribute-not-read"},
    {"h5_wrong_types/model.weights.h5", Status::ok, "object-not-read"},
};

}  // namespace

TEST_CASE("groups are maps and datasets tensors, in every version of the format that frameworks write") {
  for (const auto* file : {"keras/weights_jax/model.weights.h5", "keras/weights_libver_latest/model.weights.h5",
                           "keras/old_weights_hdf5_2/model.weights.h5", "keras/weights_tf_auto/model.weights.h5"}) {
    INFO(file);
    const auto container = open_corpus(file);
    CHECK(container->format() == "hdf5");
    CHECK(container->findings().empty());
    CHECK(type_at(*container, {"layers", "dense", "vars", "0"}) == "tensor:float32[5,4]");
    CHECK(type_at(*container, {"optimizer", "vars", "3"}) == "tensor:float32[]");
  }
  const auto jax = open_corpus("keras/weights_jax/model.weights.h5");
  CHECK(number_at(*jax, {"optimizer", "vars", "2"}) == 3);
  CHECK(number_at(*jax, {"optimizer", "vars", "3"}) == 750);
  CHECK(number_at(*open_corpus("keras/legacy_h5_tf/model.h5"),
                  {"optimizer_weights", "loss_scale_optimizer", "dynamic_scale"}) == 8192);
}

TEST_CASE("attributes stand beside what their group holds, and say what Keras stored as bytes") {
  const auto container = open_corpus("keras/weights_bf16_jax/model.weights.h5");
  const NodeId name = node_at(container->tree(), {"optimizer", "vars", "@name"});
  REQUIRE(name != nowhere);
  CHECK(container->tree().text(name) == "loss_scale_optimizer_1");
  CHECK(type_at(*container, {"layers", "dense", "vars", "1"}) == "tensor:bfloat16[4]");
  const auto legacy = open_corpus("keras/legacy_h5_tf/model.h5");
  const NodeId names = node_at(legacy->tree(), {"model_weights", "@layer_names"});
  REQUIRE(legacy->tree().items(names).size() == 2);
  CHECK(legacy->tree().text(legacy->tree().items(names)[1]) == "dense_1");
}

TEST_CASE("a value is patched where it is, and nothing else changes") {
  for (const auto* file : {"keras/weights_jax/model.weights.h5", "keras/weights_libver_latest/model.weights.h5"}) {
    INFO(file);
    const Bytes image = corpus_bytes(file);
    const Changed changed = change_value(image, {"optimizer", "vars", "3"}, 1024.0);
    REQUIRE(changed.change.patches.size() == 1);
    CHECK(changed.change.patches[0].after.size() == 4);
    CHECK(number_at(*changed.container, {"optimizer", "vars", "3"}) == 1024);
  }
}

TEST_CASE("a compact dataset is in its header, whose checksum follows") {
  for (const auto& [name, patches] : {std::pair("compact_latest", 2u), std::pair("compact_v0", 1u)}) {
    INFO(name);
    const Changed changed = change_value(seed(name), {"optimizer", "vars", "3"}, 256.0);
    CHECK(changed.change.patches.size() == patches);
    CHECK(number_at(*changed.container, {"optimizer", "vars", "3"}) == 256);
  }
}

TEST_CASE("a block of the user's in front of the superblock moves all that follows, and no other byte") {
  const auto size = GENERATE(std::size_t{512}, std::size_t{1024}, std::size_t{65536});
  Bytes image(size, std::byte{'u'});
  const Bytes file = corpus_bytes("keras/weights_jax/model.weights.h5");
  image.insert(image.end(), file.begin(), file.end());
  CHECK(differing(open_image(file)->tree(), open_image(image)->tree()).empty());
  const auto plain = change_value(file, {"optimizer", "vars", "3"}, 8192.0);
  const auto moved = change_value(image, {"optimizer", "vars", "3"}, 8192.0);
  CHECK(number_at(*moved.container, {"optimizer", "vars", "3"}) == 8192.0);
  std::vector<std::uint64_t> expected = changed_offsets(file, plain.image);
  for (std::uint64_t& offset : expected) offset += size;
  CHECK(changed_offsets(image, moved.image) == expected);
  CHECK_FALSE(expected.empty());
}

TEST_CASE("a checksum of tare's follows an edit where it was right, and stays as it is, and told, where it was not") {
  for (const auto& [name, told, patches] :
       {std::tuple("tare.h5", 0, 2u), std::tuple("changed.h5", 1, 1u), std::tuple("repacked.h5", 1, 1u),
        std::tuple("repacked_latest.h5", 1, 1u)}) {
    INFO(name);
    const FileSource source(TARE_TEST_SOURCE "/data/states/" + std::string(name));
    const auto container = open_image(source.read({0, source.size()}));
    const auto& findings = container->findings();
    CHECK(std::ranges::count(findings, "checksum-differs", &Finding::code) == told);
    const NodeId scale = node_at(container->tree(), {"fields", "scale"});
    REQUIRE(scale != nowhere);
    const NodeChange change{scale, 4096.0, "scale"};
    CHECK(container->change({&change, 1}).patches.size() == patches);
  }
}

TEST_CASE("numbers of the other byte order are read and written") {
  const Bytes image = seed("big_endian");
  CHECK(number_at(*open_image(image), {"optimizer", "vars", "2"}) == 3);
  const Changed changed = change_value(image, {"optimizer", "vars", "2"}, Integer{1000, {}});
  CHECK(number_at(*changed.container, {"optimizer", "vars", "2"}) == 1000);
}

TEST_CASE("an attribute that is a number can be changed as well") {
  const Changed changed = change_value(seed("contiguous_v2"), {"optimizer", "vars", "@steps"}, Integer{8, {}});
  CHECK(number_at(*changed.container, {"optimizer", "vars", "@steps"}) == 8);
}

TEST_CASE("raw data is hopped over") {
  Bytes image = corpus_bytes("keras/weights_jax/model.weights.h5");
  const std::uint64_t metadata = image.size();
  // What lies behind the end that the superblock knows is none of the file's.
  image.resize(image.size() + (64u << 20));
  const auto source = std::make_shared<CountedSource>(std::move(image));
  CHECK(open_container(source)->findings().empty());
  CHECK(source->taken < 2 * metadata);
}

TEST_CASE("files made to break readers are refused, or opened with what is wrong") {
  for (const Answer& answer : answers) check_answer(answer);
}

TEST_CASE("values whose bytes belong to something else are not changed") {
  Bytes image = corpus_bytes("keras/weights_jax/model.weights.h5");
  const auto before = open_image(image);
  // The layout message of optimizer/vars/3 holds the address of its data: let it be that of optimizer/vars/1.
  const auto address_of = [&](const char* name) {
    const NodeId node = node_at(before->tree(), {"optimizer", "vars", name});
    const NodeChange change{node, 77.0, ""};
    return before->change({&change, 1}).patches[0].offset;
  };
  const std::uint64_t old_address = address_of("3");
  const std::uint64_t new_address = address_of("1");
  Bytes wanted;
  append_le(wanted, old_address);
  const auto at = std::search(image.begin(), image.end(), wanted.begin(), wanted.end());
  REQUIRE(at != image.end());
  store(&*at, new_address, std::endian::little);
  const auto after = open_image(image);
  const NodeChange change{node_at(after->tree(), {"optimizer", "vars", "3"}), 77.0, "scale"};
  CHECK_THROWS_WITH(after->change({&change, 1}), Catch::Contains("something else"));
}

TEST_CASE("a dataset that two links lead to is not changed through one of them: the other's value would change, too") {
  const auto container = open_image(value_of_two_links());
  for (const char* name : {"a", "b"}) {
    CHECK(number_at(*container, {name}) == 65536);
    const NodeChange change{node_at(container->tree(), {name}), 512.0, "scale"};
    CHECK_THROWS_WITH(container->change({&change, 1}), Catch::Contains("scale: another link of the file leads to"));
  }
}

TEST_CASE("a wrong checksum of an HDF5 header that the groups lead to is noticed wherever it is") {
  const Bytes image = small_hdf5();
  CHECK(open_image(image)->format() == "hdf5");
  for (const std::string_view signature : {"OHDR", "OCHK"}) {
    const std::string_view text = as_text(image);
    for (std::size_t at = text.find(signature); at != text.npos; at = text.find(signature, at + 1)) {
      INFO(signature << " at " << at);
      Bytes wrong = image;
      wrong[at + 5] ^= std::byte{0x80};
      CHECK(message_of(wrong).find("checksum") != std::string::npos);
    }
  }
  Bytes wrong = image;
  wrong[45] ^= std::byte{1};
  CHECK(message_of(wrong).find("checksum of the superblock") != std::string::npos);
}
