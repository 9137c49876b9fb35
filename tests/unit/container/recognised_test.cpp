// Formats that are recognised and checked, but whose scalers are not read yet.
#include <catch2/catch.hpp>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/container/crc32c.hpp"
#include "lib/container/hdf5_checksum.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

struct Sound {
  std::string_view file, format;
};

constexpr Sound sound[] = {
    {"keras/weights_jax/model.weights.h5", "hdf5"},
    {"keras/weights_libver_latest/model.weights.h5", "hdf5"},
    {"keras/legacy_h5_tf/model.h5", "hdf5"},
    {"keras/archive_torch/model.keras", "keras"},
    {"numpy/npz_flat/state.npz", "npz"},
    {"numpy/npz_compressed/state.npz", "npz"},
    {"flax/to_bytes_stepped/state.msgpack", "msgpack"},
    {"flax/msgpack_chunked/state.msgpack", "msgpack"},
    {"numpy/json_sidecar/trainer_state.json", "json"},
};

struct Hostile {
  std::string_view file;
  Status status;  ///< ok: it opens
  std::string_view code;
};

constexpr Hostile hostile[] = {
    {"h5_bad_checksum/model.weights.h5", Status::corrupt, ""},
    {"h5_btree_cycle/model.weights.h5", Status::ok, "format-not-read"},
    {"h5_continuation_cycle/model.weights.h5", Status::ok, "format-not-read"},
    {"h5_external_link/model.weights.h5", Status::ok, "format-not-read"},
    {"h5_external_storage/model.weights.h5", Status::ok, "format-not-read"},
    {"h5_gzip_bomb/model.weights.h5", Status::ok, "format-not-read"},
    {"h5_hard_link_cycle/model.weights.h5", Status::ok, "format-not-read"},
    {"h5_huge_dims/model.weights.h5", Status::ok, "format-not-read"},
    {"h5_soft_link_cycle/model.weights.h5", Status::ok, "format-not-read"},
    {"h5_tiny/model.weights.h5", Status::corrupt, ""},
    {"h5_truncated/model.weights.h5", Status::corrupt, ""},
    {"h5_vlen_length/model.h5", Status::ok, "format-not-read"},
    {"h5_wrong_types/model.weights.h5", Status::ok, "format-not-read"},
    {"keras_bad_crc/model.keras", Status::ok, "crc-mismatch"},
    {"keras_config_code/model.keras", Status::ok, "format-not-read"},
    {"keras_config_depth/model.keras", Status::ok, "format-not-read"},
    {"keras_npz_objects/model.keras", Status::ok, "format-not-read"},
    {"keras_size_lie/model.keras", Status::corrupt, ""},
    {"keras_traversal/model.keras", Status::ok, "unsafe-name"},
    {"keras_truncated/model.keras", Status::corrupt, ""},
    {"keras_two_weights/model.keras", Status::ok, "duplicate-entry"},
    {"keras_zip_bomb/model.keras", Status::refused, ""},
    {"msgpack_chunks_missing/state.msgpack", Status::ok, "format-not-read"},
    {"msgpack_count/state.msgpack", Status::corrupt, ""},
    {"msgpack_depth/state.msgpack", Status::unsupported, ""},
    {"msgpack_length/state.msgpack", Status::corrupt, ""},
    {"msgpack_map_depth/state.msgpack", Status::refused, ""},
    {"msgpack_shape/state.msgpack", Status::ok, "format-not-read"},
    {"msgpack_truncated/state.msgpack", Status::corrupt, ""},
    {"msgpack_two_keys/state.msgpack", Status::ok, "format-not-read"},
    {"npz_headers/state.npz", Status::ok, "format-not-read"},
    {"npz_object_pickle/state.npz", Status::ok, "format-not-read"},
    {"npz_truncated/state.npz", Status::corrupt, ""},
    {"npz_two_members/state.npz", Status::ok, "duplicate-entry"},
};

std::string format_of(std::string_view bytes) {
  return std::string(open_image(bytes_of(bytes))->format());
}

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

}  // namespace

TEST_CASE("sound files of other formats are recognised, and nothing is wrong with them") {
  for (const auto& [file, format] : sound) {
    INFO(file);
    const auto container = open_corpus(file);
    CHECK(container->format() == format);
    REQUIRE(container->findings().size() == 1);
    CHECK(container->findings()[0].code == "format-not-read");
    CHECK(container->tree().kind(container->tree().root) == Kind::map);
    CHECK(container->tree().items(container->tree().root).empty());
    CHECK_THROWS_AS(container->change({}), Error);
  }
}

TEST_CASE("broken files of other formats are refused, suspicious ones open with a finding") {
  for (const auto& [file, status, code] : hostile) {
    INFO(file);
    try {
      const auto container = open_corpus(std::string("hostile/").append(file));
      CHECK(status == Status::ok);
      const auto& findings = container->findings();
      CHECK(std::any_of(findings.begin(), findings.end(),
                        [&, wanted = code](const Finding& f) { return f.code == wanted; }));
    } catch (const Error& error) {
      CHECK(error.status == status);
    }
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

TEST_CASE("the checksums are those of their formats") {
  // Jenkins' own test vectors, and those of RFC 3720.
  CHECK(hdf5_checksum({}) == 0xdeadbeef);
  CHECK(hdf5_checksum(as_bytes("Four score and seven years ago")) == 0x17770551);
  CHECK(crc32c(as_bytes("123456789")) == 0xe3069283);
  CHECK(crc32c(Bytes(32)) == 0x8a9136aa);
}

TEST_CASE("formats with no magic number are told by their structure") {
  CHECK(format_of("\x0f\0\0\0\0\0\0\0{\"__metadata__\""sv) == "safetensors");
  CHECK(format_of("\x0a\x18\x0a\x05scale\x12\x0f\x12\x07"
                  "Float32\x1a\x04\0\0\0\0"sv) == "mindspore");
  CHECK(format_of("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\x08\5\x10\1\0\0\0D"sv) == "paddle_lod_tensor");
  CHECK(format_of("{\"a\": 1}"sv) == "json");
  CHECK(format_of(" [1, 2]"sv) == "json");
}

TEST_CASE("a message says what a file looks like") {
  CHECK(message_of({}).find("an empty file") != std::string::npos);
  CHECK(message_of(bytes_of("\x1f\x8b\x08"sv)).find("a gzip file") != std::string::npos);
  CHECK(message_of(bytes_of("<html>"sv)).find("a web page") != std::string::npos);
  CHECK(message_of(bytes_of("just words"sv)).find("a text file") != std::string::npos);
  CHECK(message_of(Bytes(100)).find("zero bytes") != std::string::npos);
  CHECK(message_of(bytes_of("\xff\xfe\x01\x02"sv)).find("nothing that tare knows") != std::string::npos);
  CHECK(message_of(corpus_bytes("torch/tar-era/ancient.pt")).find("a tar archive") != std::string::npos);
  ArchiveWriter zip;
  zip.add("readme.txt", as_bytes("hello"));
  zip.finish();
  CHECK(message_of(zip.bytes()).find("zip archive without data.pkl") != std::string::npos);
}

TEST_CASE("archives one after the other are told from a damaged one") {
  const Bytes one = torch_archive(bytes_of("\x80\x02}."sv));
  Bytes two = one;
  two.insert(two.end(), one.begin(), one.end());
  CHECK(message_of(two).find("one after the other") != std::string::npos);
}
