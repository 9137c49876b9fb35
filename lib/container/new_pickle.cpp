#include "lib/container/new_pickle.hpp"

#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/container/pickle_opcode.hpp"

namespace tare {
namespace {

/// torch's storage class for each element type that scalers use.
constexpr auto storage_classes = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"float32", "FloatStorage"},
    {"float64", "DoubleStorage"},
    {"int32", "IntStorage"},
    {"int64", "LongStorage"},
});

/// numpy's short name of each.
constexpr auto numpy_types = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"float32", "f4"},
    {"float64", "f8"},
    {"int32", "i4"},
    {"int64", "i8"},
});

std::string_view spelled(std::span<const std::pair<std::string_view, std::string_view>> names, std::string_view type) {
  for (const auto& [name, spelling] : names) {
    if (name == type) return spelling;
  }
  throw Error(Status::refused, "no scaler is stored as " + std::string(type));
}

/// What both ways of writing share. Nothing is memoised: every value stands where it is used.
class PickleWriter {
 public:
  virtual ~PickleWriter() = default;

  /// A whole pickle.
  Bytes pickle(std::uint8_t protocol, const Document& document) {
    op(Opcode::proto);
    byte(protocol);
    write(document);
    op(Opcode::stop);
    return std::move(bytes_);
  }
  Bytes value(const Document& document) {
    write(document);
    return std::move(bytes_);
  }

  void write(const Document& document) {
    std::visit([this](const auto& value) { put(value); }, document.value);
  }

 protected:
  virtual void put(const DocumentTensor& tensor) = 0;

  void op(Opcode code) { byte(static_cast<std::uint8_t>(code)); }
  void global(std::string_view module, std::string_view name) {
    op(Opcode::global);
    raw(module);
    byte('\n');
    raw(name);
    byte('\n');
  }
  void text(std::string_view value) {
    op(Opcode::binunicode);
    append_le<std::uint32_t>(bytes_, static_cast<std::uint32_t>(value.size()));
    raw(value);
  }
  void bytes(ByteView value) {
    op(Opcode::short_binbytes);
    byte(static_cast<std::uint8_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  void integer(std::int64_t value) {
    if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max()) {
      op(Opcode::binint);
      append_le<std::uint32_t>(bytes_, static_cast<std::uint32_t>(value));
      return;
    }
    op(Opcode::long1);
    byte(sizeof(value));
    append_le<std::uint64_t>(bytes_, static_cast<std::uint64_t>(value));
  }
  void flag(bool value) { op(value ? Opcode::newtrue : Opcode::newfalse); }
  void shape(const std::vector<std::int64_t>& sizes) {
    op(Opcode::mark);
    for (const std::int64_t size : sizes) integer(size);
    op(Opcode::tuple);
  }

 private:
  void put(std::monostate) { op(Opcode::none); }
  void put(bool value) { flag(value); }
  void put(std::int64_t value) { integer(value); }
  void put(double value) {
    op(Opcode::binfloat);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 56; shift >= 0; shift -= 8) byte(static_cast<std::uint8_t>(bits >> shift));
  }
  void put(const std::string& value) { text(value); }
  void put(const DocumentMap& map) {
    op(Opcode::empty_dict);
    op(Opcode::mark);
    for (const auto& [key, value] : map) {
      text(key);
      write(value);
    }
    op(Opcode::setitems);
  }
  /// As an object without __reduce__ of its own: NEWOBJ, then its attributes.
  void put(const DocumentObject& object) {
    global(object.module, object.name);
    op(Opcode::empty_tuple);
    op(Opcode::newobj);
    put(object.attributes);
    op(Opcode::build);
  }
  void put(const DocumentName& name) { global(name.module, name.name); }

  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void raw(std::string_view value) {
    const ByteView view = as_bytes(value);
    bytes_.insert(bytes_.end(), view.begin(), view.end());
  }

  Bytes bytes_;
};

class TorchWriter final : public PickleWriter {
 public:
  explicit TorchWriter(std::function<std::string()> key = {}) : key_(std::move(key)) {}
  std::vector<Bytes> storages;

 private:
  /// _rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict())
  void put(const DocumentTensor& tensor) override {
    global("torch._utils", "_rebuild_tensor_v2");
    op(Opcode::mark);
    op(Opcode::mark);
    text("storage");
    global("torch", spelled(storage_classes, tensor.type.name));
    text(key_ ? key_() : std::to_string(storages.size()));
    text("cpu");
    integer(static_cast<std::int64_t>(tensor.elements.size() / tensor.type.size));
    op(Opcode::tuple);
    op(Opcode::binpersid);
    integer(0);
    shape(tensor.shape);
    shape(std::vector<std::int64_t>(tensor.shape.size(), 1));
    flag(false);
    global("collections", "OrderedDict");
    op(Opcode::empty_tuple);
    op(Opcode::reduce);
    op(Opcode::tuple);
    op(Opcode::reduce);
    storages.push_back(tensor.elements);
  }

  std::function<std::string()> key_;  ///< names storages; empty: they are counted
};

class NumpyWriter final : public PickleWriter {
 private:
  /// _reconstruct(ndarray, (0,), b'b'), then its state (1, shape, dtype, False, data)
  void put(const DocumentTensor& tensor) override {
    global("numpy.core.multiarray", "_reconstruct");
    global("numpy", "ndarray");
    shape({0});
    bytes(as_bytes("b"));
    op(Opcode::tuple3);
    op(Opcode::reduce);
    op(Opcode::mark);
    integer(1);
    shape(tensor.shape);
    dtype(spelled(numpy_types, tensor.type.name));
    flag(false);
    bytes(tensor.elements);
    op(Opcode::tuple);
    op(Opcode::build);
  }

  /// dtype('f4', False, True), then its state (3, '<', None, None, None, -1, -1, 0)
  void dtype(std::string_view name) {
    global("numpy", "dtype");
    text(name);
    flag(false);
    flag(true);
    op(Opcode::tuple3);
    op(Opcode::reduce);
    op(Opcode::mark);
    integer(3);
    text("<");
    for (int i = 0; i < 3; ++i) op(Opcode::none);
    integer(-1);
    integer(-1);
    integer(0);
    op(Opcode::tuple);
    op(Opcode::build);
  }
};

}  // namespace

TorchPickle new_torch_pickle(const Document& document) {
  TorchWriter writer;
  Bytes text = writer.pickle(2, document);
  return {std::move(text), std::move(writer.storages)};
}

Bytes new_numpy_pickle(const Document& document) {
  return NumpyWriter().pickle(4, document);
}

PickledValue torch_value(const Document& document, const std::function<std::string()>& key) {
  TorchWriter writer(key);
  PickledValue value{writer.value(document), std::nullopt};
  if (writer.storages.size() > 1) throw Error(Status::refused, "several tensors cannot be added at once");
  if (!writer.storages.empty()) value.storage = std::move(writer.storages.front());
  return value;
}

PickledValue numpy_value(const Document& document) {
  return {NumpyWriter().value(document), std::nullopt};
}

PickledValue as_entries(PickledValue map) {
  map.opcodes.erase(map.opcodes.begin());  // EMPTY_DICT
  return map;
}

}  // namespace tare
