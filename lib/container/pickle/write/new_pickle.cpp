#include "lib/container/pickle/write/new_pickle.hpp"

#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/opcode.hpp"
#include "lib/container/pickle/write/encode.hpp"
#include "lib/container/pickle/write/new_stream.hpp"
#include "lib/container/type_spelling.hpp"

namespace tare {
namespace {

/// torch's storage class for each element type that scalers use.
constexpr auto written_classes = std::to_array<TypeSpelling>({
    {"float32", "FloatStorage"},
    {"float64", "DoubleStorage"},
    {"int32", "IntStorage"},
    {"int64", "LongStorage"},
    {"uint8", "ByteStorage"},
});

/// numpy's short name of each.
constexpr auto numpy_types = std::to_array<TypeSpelling>({
    {"float32", "f4"},
    {"float64", "f8"},
    {"int32", "i4"},
    {"int64", "i8"},
});

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
  void binary(ByteView value) {
    if (value.size() > std::numeric_limits<std::uint8_t>::max()) return long_bytes(value);
    op(Opcode::short_binbytes);
    byte(static_cast<std::uint8_t>(value.size()));
    raw(as_text(value));
  }
  void long_bytes(ByteView value) {
    op(Opcode::binbytes);
    append_le<std::uint32_t>(bytes_, static_cast<std::uint32_t>(value.size()));
    raw(as_text(value));
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
  void put(const DocumentCall& call) {
    global(call.module, call.name);
    op(Opcode::mark);
    for (const Document& argument : call.arguments) write(argument);
    op(Opcode::tuple);
    op(Opcode::reduce);
  }
  /// BytesIO(), then its state (bytes, position, attributes); protocol 2 has no bytes of its own.
  void put(const DocumentStream& stream) {
    global("_io", "BytesIO");
    op(Opcode::empty_tuple);
    op(Opcode::newobj);
    global("_codecs", "encode");
    text(utf8_of_latin1(stream.contents));
    text("latin1");
    op(Opcode::tuple2);
    op(Opcode::reduce);
    integer(static_cast<std::int64_t>(stream.contents.size()));
    op(Opcode::none);
    op(Opcode::tuple3);
    op(Opcode::build);
  }

  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void raw(std::string_view value) {
    const ByteView view = as_bytes(value);
    bytes_.insert(bytes_.end(), view.begin(), view.end());
  }

  Bytes bytes_;
};

/// _rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict())
class TensorWriter : public PickleWriter {
 protected:
  virtual void storage(std::string_view storage_class, const DocumentTensor& tensor) = 0;

 private:
  void put(const DocumentTensor& tensor) override {
    global("torch._utils", "_rebuild_tensor_v2");
    op(Opcode::mark);
    storage(spelled(written_classes, tensor.type), tensor);
    integer(0);
    shape(tensor.shape);
    std::vector<std::int64_t> strides(tensor.shape.size(), 1);
    for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.shape[i];
    shape(strides);
    flag(false);
    global("collections", "OrderedDict");
    op(Opcode::empty_tuple);
    op(Opcode::reduce);
    op(Opcode::tuple);
    op(Opcode::reduce);
  }
};

class TorchWriter final : public TensorWriter {
 public:
  explicit TorchWriter(const NewKey& new_key) : new_key_(new_key) {}

 private:
  void storage(std::string_view storage_class, const DocumentTensor& tensor) override {
    op(Opcode::mark);
    text("storage");
    global("torch", storage_class);
    text(new_key_(tensor));
    text("cpu");
    integer(static_cast<std::int64_t>(tensor.elements.size() / tensor.type.size));
    op(Opcode::tuple);
    op(Opcode::binpersid);
  }

  const NewKey& new_key_;
};

class StreamWriter final : public TensorWriter {
 private:
  void storage(std::string_view storage_class, const DocumentTensor& tensor) override {
    global("torch.storage", "_load_from_bytes");
    long_bytes(new_stream(storage_class, tensor.elements));
    op(Opcode::tuple1);
    op(Opcode::reduce);
  }
};

class NumpyWriter final : public PickleWriter {
 private:
  /// _reconstruct(ndarray, (0,), b'b'), then its state (1, shape, dtype, False, data)
  void put(const DocumentTensor& tensor) override {
    global("numpy.core.multiarray", "_reconstruct");
    global("numpy", "ndarray");
    shape({0});
    binary(as_bytes("b"));
    op(Opcode::tuple3);
    op(Opcode::reduce);
    op(Opcode::mark);
    integer(1);
    shape(tensor.shape);
    dtype(spelled(numpy_types, tensor.type));
    flag(false);
    binary(tensor.elements);
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
  TorchPickle pickle;
  const NewKey new_key = [&](const DocumentTensor& tensor) {
    pickle.storages.push_back(tensor.elements);
    return std::to_string(pickle.storages.size() - 1);
  };
  pickle.text = TorchWriter(new_key).pickle(2, document);
  return pickle;
}

Bytes new_streamed_pickle(const Document& document) {
  return StreamWriter().pickle(4, document);
}

Bytes new_numpy_pickle(const Document& document) {
  return NumpyWriter().pickle(4, document);
}

Bytes torch_value(const Document& document, const NewKey& new_key) {
  return TorchWriter(new_key).value(document);
}

Bytes numpy_value(const Document& document) {
  return NumpyWriter().value(document);
}

Bytes as_entries(Bytes map) {
  map.erase(map.begin());  // EMPTY_DICT
  return map;
}

}  // namespace tare
