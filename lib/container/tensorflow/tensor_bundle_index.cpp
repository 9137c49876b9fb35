#include "lib/container/tensorflow/tensor_bundle_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/protobuf.hpp"

namespace tare {
namespace {

struct TypeNumber {
  std::uint64_t number;
  std::string_view name;
};

/// tensorflow/core/framework/types.proto: those with numbers.
constexpr auto type_numbers = std::to_array<TypeNumber>({
    {1, "float32"},
    {2, "float64"},
    {3, "int32"},
    {4, "uint8"},
    {5, "int16"},
    {6, "int8"},
    {9, "int64"},
    {10, "bool"},
    {14, "bfloat16"},
    {17, "uint16"},
    {19, "float16"},
    {22, "uint32"},
    {23, "uint64"},
    {24, "float8_e5m2"},
    {25, "float8_e4m3fn"},
});

/// What the object graph puts behind the name of an object that is a variable.
constexpr std::string_view variable_ending = "/.ATTRIBUTES/VARIABLE_VALUE";

ElementType type_of(std::uint64_t number) {
  const auto row =
      std::find_if(type_numbers.begin(), type_numbers.end(), [&](const TypeNumber& t) { return t.number == number; });
  return row == type_numbers.end() ? ElementType{} : element_type(row->name);
}

std::string dotted(std::string_view name) {
  if (name.ends_with(variable_ending)) name.remove_suffix(variable_ending.size());
  std::string key(name);
  std::replace(key.begin(), key.end(), '/', '.');
  return key;
}

class IndexReader {
 public:
  explicit IndexReader(const Source& source) : index_{read_leveldb_table(source), 0, {}}, proto_(*index_.table.file) {}

  BundleIndex read() {
    const auto& rows = index_.table.rows;
    if (rows.empty() || !rows.front().key.empty()) fail("holds no header, so it is none of a TensorFlow checkpoint");
    read_header(rows.front().value);
    index_.items.reserve(rows.size() - 1);
    for (std::size_t i = 1; i < rows.size(); ++i) index_.items.push_back(item(rows[i]));
    return std::move(index_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: the index {}", index_.table.file->name(), problem),
                "the file is damaged; take another copy");
  }

  /// BundleHeaderProto
  void read_header(Span message) {
    while (message.size > 0) {
      const ProtobufField field = proto_.take(message);
      if (field.number == 1) index_.shards = field.value;
      if (field.number == 2 && field.value != 0) {
        throw Error(Status::unsupported,
                    fmt::format("{}: was written on a big-endian machine", index_.table.file->name()),
                    "TensorFlow loads such a checkpoint only there");
      }
    }
    if (index_.shards > limits::max_files) fail(fmt::format("says that there are {} data files", index_.shards));
  }

  /// BundleEntryProto
  BundleItem item(const LeveldbTable::Row& row) {
    index_.table.file->budget()->take_memory(sizeof(BundleItem) + row.key.size());
    BundleItem item;
    item.key = dotted(row.key);
    item.block = row.block;
    Span message = row.value;
    while (message.size > 0) {
      const ProtobufField field = proto_.take(message);
      switch (field.number) {
        case 1:
          item.type = type_of(field.value);
          break;
        case 2:
          item.shape = shape(field.run);
          break;
        case 3:
          item.shard = field.value;
          break;
        case 4:
          item.place.offset = field.value;
          break;
        case 5:
          item.place.size = field.value;
          break;
        case 6:
          item.crc = static_cast<std::uint32_t>(field.value);
          item.crc_place = field.run;
          break;
        case 7:
          item.is_sliced = true;
          break;
        default:
          break;  // of a later version
      }
    }
    if (item.shard >= index_.shards) fail(fmt::format("names data file {} of {}", item.shard, index_.shards));
    if (item.place.size > ~std::uint64_t{0} - item.place.offset) fail(fmt::format("has no place for {}", row.key));
    return item;
  }

  /// TensorShapeProto
  std::vector<std::int64_t> shape(Span message) {
    std::vector<std::int64_t> sizes;
    while (message.size > 0) {
      const ProtobufField dimension = proto_.take(message);
      if (dimension.number != 2 || !dimension.is_run) continue;
      if (sizes.size() == limits::max_tensor_dimensions) fail("has a shape of more dimensions than there are");
      sizes.push_back(0);
      Span inner = dimension.run;
      while (inner.size > 0) {
        const ProtobufField field = proto_.take(inner);
        if (field.number == 1) sizes.back() = static_cast<std::int64_t>(field.value);
      }
    }
    return sizes;
  }

  BundleIndex index_;
  ProtobufReader proto_;
};

}  // namespace

BundleIndex read_bundle_index(const Source& source) {
  return IndexReader(source).read();
}

std::string bundle_data_name(const std::string& index_name, std::uint64_t shard, std::uint64_t shards) {
  const std::string prefix = index_name.substr(0, index_name.rfind('.'));
  return fmt::format("{}.data-{:05}-of-{:05}", prefix, shard, shards);
}

}  // namespace tare
