#include "lib/container/orbax/zarr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/crc32c.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/zstd_frame.hpp"
#include "lib/json/document.hpp"

namespace tare {
namespace {

constexpr std::uint64_t shard_index_size = 2 * sizeof(std::uint64_t);
/// What tensorstore, which Orbax writes with, takes where none is asked for. Chunks of one number are stored plainly in
/// their frame at every level.
constexpr int zstd_level = 1;

struct ZarrType {
  std::string_view zarr;
  std::string_view name;
};

/// Version 2 spells types as numpy does; of version 3 the names are ours.
constexpr auto zarr_types = std::to_array<ZarrType>({
    {"|b1", "bool"},
    {"|i1", "int8"},
    {"|u1", "uint8"},
    {"<i2", "int16"},
    {"<u2", "uint16"},
    {"<i4", "int32"},
    {"<u4", "uint32"},
    {"<i8", "int64"},
    {"<u8", "uint64"},
    {"<f2", "float16"},
    {"<f4", "float32"},
    {"<f8", "float64"},
});

class DocumentReader {
 public:
  DocumentReader(ByteView document, const std::string& name, const std::shared_ptr<Budget>& budget)
      : document_(document, name, budget), json_(document_.root()) {}

  ZarrArray read(std::string_view document_name) {
    array_.tensor.library = "numpy";
    read_shape();
    document_name == zarr2_document ? read_version2() : read_version3();
    return std::move(array_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Status::unsupported, fmt::format("{}: is {}, which tare does not read", document_.name(), what));
  }

  void read_shape() {
    array_.tensor.shape = json_.at("shape").integers();
    if (array_.tensor.shape.size() > limits::max_tensor_dimensions) refuse("an array of too many dimensions");
  }

  void read_type(std::string_view stored) {
    const auto row =
        std::find_if(zarr_types.begin(), zarr_types.end(), [&](const ZarrType& t) { return t.zarr == stored; });
    array_.tensor.type = element_type(row == zarr_types.end() ? stored : row->name);
    if (array_.tensor.type.size == 0) refuse(fmt::format("of type {}", stored));
  }

  /// An array of no element, or without dimensions, has one chunk too.
  void require_one_chunk(const JsonValue& chunk_shape) {
    if (chunk_shape.integers() != array_.tensor.shape) refuse("an array of several chunks");
  }

  /// "0.0", "c/0/0"
  [[nodiscard]] std::string chunk_key(std::string_view beginning, std::string_view separator) const {
    std::string key(beginning);
    for (std::size_t i = 0; i < array_.tensor.shape.size(); ++i) key.append(key.empty() ? "" : separator).append("0");
    return key;
  }

  void read_version2() {
    read_type(json_.at("dtype").text());
    require_one_chunk(json_.at("chunks"));
    if (!json_.at("filters").is_null()) refuse("filtered");
    if (json_.at("order").text() != "C" && array_.tensor.shape.size() > 1) refuse("stored column by column");
    const JsonValue compressor = json_.at("compressor");
    if (!compressor.is_null()) {
      const std::string_view id = compressor.at("id").text();
      if (id != "zstd") refuse(fmt::format("compressed with {}", id));
      array_.codecs.push_back(ZarrCodec::zstd);
    }
    const std::string_view separator = json_.find("dimension_separator").text_or(".");
    array_.chunk = array_.tensor.shape.empty() ? "0" : chunk_key("", separator);
  }

  void read_version3() {
    read_type(json_.at("data_type").text());
    require_one_chunk(json_.at("chunk_grid").at("configuration").at("chunk_shape"));
    const JsonValue encoding = json_.at("chunk_key_encoding");
    if (encoding.at("name").text() != "default") refuse("an array whose chunks have other names");
    array_.chunk = chunk_key("c", encoding.find("configuration").find("separator").text_or("/"));
    read_codecs(json_.at("codecs"));
  }

  void read_codecs(const JsonValue& codecs) {
    for (const JsonValue& codec : codecs.items()) {
      const std::string_view name = codec.at("name").text();
      const JsonValue options = codec.find("configuration");
      if (name == "bytes") {
        if (options.find("endian").text_or("little") != "little") refuse("big-endian");
      } else if (name == "zstd") {
        array_.codecs.push_back(ZarrCodec::zstd);
      } else if (name == "crc32c") {
        array_.codecs.push_back(ZarrCodec::crc32c);
      } else if (name == "sharding_indexed" && !is_sharded_) {
        is_sharded_ = true;
        require_plain_index(options);
        require_one_chunk(options.at("chunk_shape"));
        read_codecs(options.at("codecs"));
        array_.codecs.push_back(ZarrCodec::shard_of_one);
      } else {
        refuse(fmt::format("encoded with {}", name));
      }
    }
  }

  void require_plain_index(const JsonValue& options) {
    std::string names;
    for (const JsonValue& codec : options.at("index_codecs").items()) names.append(codec.at("name").text()).append(" ");
    if (names != "bytes crc32c " || options.find("index_location").text_or("end") != "end") {
      refuse("sharded with another index");
    }
  }

  JsonDocument document_;
  JsonValue json_;
  ZarrArray array_;
  bool is_sharded_ = false;
};

std::uint64_t elements_size(const ZarrArray& array) {
  const std::uint64_t count = array.tensor.count();
  const bool is_small =
      count <= limits::max_tensor_read_bytes && count * array.tensor.type.size <= limits::max_tensor_read_bytes;
  if (is_small) return count * array.tensor.type.size;
  throw Error(Status::refused, fmt::format("an array of {} elements is more than a scaler's", count));
}

class ChunkDecoder {
 public:
  ChunkDecoder(std::uint64_t size, const std::string& name, Budget* budget)
      : size_(size), name_(name), budget_(budget) {}

  [[noreturn]] void fail(const char* problem) const {
    throw Error(Status::corrupt, fmt::format("{}: chunk: {}", name_, problem),
                "the file is damaged; take another copy");
  }

  [[nodiscard]] Bytes without(ZarrCodec codec, Bytes bytes) const {
    switch (codec) {
      case ZarrCodec::zstd:
        return zstd_content(bytes, size_ + shard_index_size + 2 * crc32c_size, name_, budget_);
      case ZarrCodec::crc32c:
        return checked(std::move(bytes));
      case ZarrCodec::shard_of_one:
        return inner_chunk(std::move(bytes));
    }
    return bytes;
  }

 private:
  [[nodiscard]] Bytes checked(Bytes bytes) const {
    if (bytes.size() < crc32c_size) fail("is too short for a checksum");
    const ByteView covered = ByteView(bytes).first(bytes.size() - crc32c_size);
    if (load_le<std::uint32_t>(covered.data() + covered.size()) != crc32c(covered)) fail("its CRC-32C is wrong");
    bytes.resize(covered.size());
    return bytes;
  }

  [[nodiscard]] Bytes inner_chunk(Bytes bytes) const {
    if (bytes.size() < shard_index_size + crc32c_size) fail("is too short for a shard");
    const std::uint64_t end = bytes.size() - shard_index_size - crc32c_size;
    const Bytes index = checked({bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.end()});
    const auto offset = load_le<std::uint64_t>(index.data());
    const auto size = load_le<std::uint64_t>(index.data() + sizeof(std::uint64_t));
    if (offset > end || size > end - offset) fail("the shard's index leads out of it");
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }

  std::uint64_t size_;
  const std::string& name_;
  Budget* budget_;
};

Bytes with(ZarrCodec codec, Bytes bytes) {
  switch (codec) {
    case ZarrCodec::zstd:
      return zstd_frame(bytes, zstd_level);
    case ZarrCodec::crc32c:
      append_le(bytes, crc32c(bytes));
      break;
    case ZarrCodec::shard_of_one: {
      Bytes index;
      append_le(index, std::uint64_t{0});
      append_le(index, static_cast<std::uint64_t>(bytes.size()));
      append_le(index, crc32c(index));
      bytes.insert(bytes.end(), index.begin(), index.end());
      break;
    }
  }
  return bytes;
}

}  // namespace

ZarrArray zarr_array(ByteView document, std::string_view document_name, const std::string& name,
                     const std::shared_ptr<Budget>& budget) {
  return DocumentReader(document, name, budget).read(document_name);
}

Bytes zarr_elements(const ZarrArray& array, ByteView chunk, const std::string& name, Budget* budget) {
  const std::uint64_t size = elements_size(array);
  const ChunkDecoder decoder(size, name, budget);
  Bytes bytes(chunk.begin(), chunk.end());
  for (std::size_t i = array.codecs.size(); i-- > 0;) bytes = decoder.without(array.codecs[i], std::move(bytes));
  if (bytes.size() != size) decoder.fail("is not as large as the array");
  return bytes;
}

Bytes zarr_chunk(const ZarrArray& array, ByteView elements) {
  Bytes bytes(elements.begin(), elements.end());
  for (const ZarrCodec codec : array.codecs) bytes = with(codec, std::move(bytes));
  return bytes;
}

}  // namespace tare
