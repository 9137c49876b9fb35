#include "lib/container/pickle/read/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/numpy_type.hpp"
#include "lib/container/pickle/read/global.hpp"
#include "lib/container/pickle/read/storage_stream.hpp"
#include "lib/container/pickle/read/tensor_pattern.hpp"
#include "lib/container/stored_tensors.hpp"

namespace tare {
namespace {

struct StorageClass {
  std::string_view name;
  std::string_view element;
};

/// torch's storage classes. UntypedStorage counts bytes; its element type stands elsewhere.
constexpr auto storage_classes = std::to_array<StorageClass>({
    {"FloatStorage", "float32"},
    {"DoubleStorage", "float64"},
    {"HalfStorage", "float16"},
    {"BFloat16Storage", "bfloat16"},
    {"LongStorage", "int64"},
    {"IntStorage", "int32"},
    {"ShortStorage", "int16"},
    {"CharStorage", "int8"},
    {"ByteStorage", "uint8"},
    {"BoolStorage", "bool"},
    {"ComplexFloatStorage", "complex64"},
    {"ComplexDoubleStorage", "complex128"},
    {"UntypedStorage", "uint8"},
});

[[noreturn]] void reject(std::string_view problem) {
  throw Error(Status::corrupt, fmt::format("a tensor {}", problem), "the pickle describes what torch could not load");
}

Callee variant(const Tree& tree, NodeId node) {
  return static_cast<Callee>(tree[node].detail);
}

NodeId item(const Tree& tree, NodeId sequence, std::size_t index) {
  const auto items = tree.items(sequence);
  if (index >= items.size()) reject(fmt::format("without its argument {}", index));
  return items[index];
}

std::int64_t number(const Tree& tree, NodeId node) {
  if (tree.kind(node) != Kind::integer || tree.integer(node).is_big()) reject("whose sizes are no numbers");
  return tree.integer(node).value;
}

std::vector<std::int64_t> numbers(const Tree& tree, NodeId sequence) {
  if (tree.kind(sequence) != Kind::tuple && tree.kind(sequence) != Kind::list) reject("without a shape");
  const auto items = tree.items(sequence);
  if (items.size() > limits::max_tensor_dimensions) reject(fmt::format("of {} dimensions", items.size()));
  std::vector<std::int64_t> result;
  for (const NodeId id : items) result.push_back(number(tree, id));
  return result;
}

bool is_storage(const Tree& tree, NodeId node) {
  if (tree.kind(node) != Kind::opaque || tree.callee(node) != nowhere) return false;
  const NodeId id = tree.arguments(node);
  const auto parts = id == nowhere ? std::span<const NodeId>() : tree.items(id);
  return parts.size() >= 5 && tree.kind(parts[0]) == Kind::string && tree.text(parts[0]) == "storage";
}

ElementType storage_type(const Tree& tree, NodeId storage_class) {
  return storage_element(tree.qualified_name(storage_class).name);
}

/// The bytes of a storage that stands in the pickle as a stream of torch.save; nowhere for other storages.
NodeId stream_of_storage(const Tree& tree, NodeId storage) {
  const NodeId callee = tree.callee(storage);
  if (callee == nowhere || tree.kind(callee) != Kind::name || variant(tree, callee) != Callee::storage_stream) {
    return nowhere;
  }
  const auto arguments = tree.items(tree.arguments(storage));
  return arguments.size() == 1 && tree.kind(arguments[0]) == Kind::bytes ? arguments[0] : nowhere;
}

/// The storage of a tensor that was read by opcode.
NodeId storage_node(const Tree& tree, NodeId tensor) {
  return item(tree, tree.arguments(tensor), 0);
}

/// The same for a tensor, however it was read.
NodeId stream_of_tensor(const Tree& tree, NodeId tensor) {
  return tree.arguments(tensor) == nowhere ? nowhere : stream_of_storage(tree, storage_node(tree, tensor));
}

/// A tensor whose opcodes were left unread (tensor_pattern.hpp): its node starts where they do.
Tensor describe_unread(const Tree& tree, NodeId node) {
  const auto parts = tree.parts(node);
  const auto pattern = read_tensor_pattern(tree.bytes(), tree.span(node).offset);
  Tensor tensor;
  tensor.library = "tensor";
  const auto numbers_of = [&](const TensorPattern::Numbers& written, NodeId fetched) {
    const bool is_fetched = written.slot != TensorPattern::no_slot;
    return is_fetched ? numbers(tree, fetched) : recipe_numbers(tree.bytes(), written.ops);
  };
  tensor.type = storage_type(tree, parts[unread_part::storage_class]);
  tensor.storage = tree.text(parts[unread_part::key]);
  tensor.device = tree.text(parts[unread_part::device]);
  tensor.storage_count = pattern->storage_count;
  tensor.offset = pattern->offset;
  tensor.shape = numbers_of(pattern->sizes, parts[unread_part::sizes]);
  tensor.strides = numbers_of(pattern->strides, parts[unread_part::strides]);
  if (tensor.shape.size() > limits::max_tensor_dimensions) reject(fmt::format("of {} dimensions", tensor.shape.size()));
  return tensor;
}

/// A persistent id ("storage", class, key, device, count[, view]).
void describe_storage(const Tree& tree, NodeId storage, Tensor& tensor) {
  if (const NodeId stream = stream_of_storage(tree, storage); stream != nowhere) {
    const StreamedStorage streamed = read_streamed_storage(as_bytes(tree.text(stream)));
    tensor.type = streamed.type;
    tensor.storage_count = streamed.count;
    return;
  }
  if (!is_storage(tree, storage)) reject("without a storage");
  const NodeId id = tree.arguments(storage);
  tensor.type = storage_type(tree, item(tree, id, 1));
  if (tree.kind(item(tree, id, 2)) != Kind::string || tree.kind(item(tree, id, 3)) != Kind::string) {
    reject("whose storage has no name");
  }
  tensor.storage = tree.text(item(tree, id, 2));
  tensor.device = tree.text(item(tree, id, 3));
  tensor.storage_count = number(tree, item(tree, id, 4));
  const auto parts = tree.items(id);
  if (parts.size() > 5 && tree.kind(parts[5]) == Kind::tuple) {
    tensor.offset += number(tree, item(tree, parts[5], 1));  // a view of the storage, as torch before 0.4 had them
  }
}

Tensor describe_read(const Tree& tree, NodeId node) {
  const NodeId arguments = tree.arguments(node);
  Tensor tensor;
  tensor.library = "tensor";
  describe_storage(tree, item(tree, arguments, 0), tensor);
  tensor.offset += number(tree, item(tree, arguments, 1));
  tensor.shape = numbers(tree, item(tree, arguments, 2));
  tensor.strides = numbers(tree, item(tree, arguments, 3));
  return tensor;
}

Tensor describe_tensor(const Tree& tree, NodeId node) {
  const NodeId arguments = tree.arguments(node);
  Tensor tensor = arguments == nowhere ? describe_unread(tree, node) : describe_read(tree, node);
  if (tensor.shape.size() != tensor.strides.size()) reject("with other strides than sizes");
  if (variant(tree, node) == Callee::tensor_v3) {
    const std::int64_t bytes = tensor.storage_count;
    tensor.type = element_type(tree.qualified_name(item(tree, arguments, 6)).name);
    if (tensor.type.size != 0) tensor.storage_count = bytes / tensor.type.size;
  }
  return tensor;
}

/// How torch changes elements as it shows them, where it stores other numbers; else empty. That a key is there is
/// enough. Source: torch/_utils.py, _rebuild_tensor_v2, and torch/csrc/jit/serialization/pickler.h, setTensorMetadata.
std::string_view change_when_shown(const Tree& tree, NodeId node) {
  const NodeId arguments = tree.arguments(node);
  const std::size_t place = variant(tree, node) == Callee::tensor_v3 ? 7 : 6;
  const auto items = arguments == nowhere ? std::span<const NodeId>() : tree.items(arguments);
  if (items.size() <= place || tree.kind(items[place]) != Kind::map) return {};
  if (tree.find(items[place], "neg") != nowhere) return "negated";
  return tree.find(items[place], "conj") != nowhere ? "conjugated" : "";
}

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape, bool is_fortran) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t dimension = is_fortran ? i : shape.size() - 1 - i;
    strides[dimension] = step;
    if (__builtin_mul_overflow(step, shape[dimension], &step)) reject("beyond any memory");
  }
  return strides;
}

/// The pieces of an array's description, wherever its kind of call keeps them.
struct ArrayParts {
  NodeId dtype, shape, data;
  bool is_fortran = false;
};

ArrayParts array_parts(const Tree& tree, NodeId node) {
  const NodeId arguments = tree.arguments(node);
  switch (variant(tree, node)) {
    case Callee::numpy_scalar:
      return {item(tree, arguments, 0), nowhere, item(tree, arguments, 1)};
    case Callee::numpy_buffer:
      return {item(tree, arguments, 1), item(tree, arguments, 2), item(tree, arguments, 0)};
    case Callee::paddle_tensor:
      return array_parts(tree, arguments);  // which is the array itself, of another kind
    default:
      break;
  }
  const NodeId state = tree.state(node);
  if (state == nowhere || tree.items(state).size() != 5) reject("that was never filled");
  const NodeId order = item(tree, state, 3);
  return {item(tree, state, 2), item(tree, state, 1), item(tree, state, 4),
          tree.kind(order) == Kind::boolean && tree[order].as.boolean};
}

ElementType array_type(const Tree& tree, NodeId dtype) {
  const auto arguments = tree.items(tree.arguments(dtype));
  if (arguments.empty() || tree.kind(arguments[0]) != Kind::string) return {};
  return numpy_type(tree.text(arguments[0]));
}

Tensor describe_array(const Tree& tree, NodeId node) {
  const ArrayParts parts = array_parts(tree, node);
  Tensor tensor;
  tensor.library = variant(tree, node) == Callee::paddle_tensor ? "tensor" : "numpy";
  tensor.type = array_type(tree, parts.dtype);
  tensor.is_scalar = parts.shape == nowhere;
  if (!tensor.is_scalar) tensor.shape = numbers(tree, parts.shape);
  tensor.strides = strides_of(tensor.shape, parts.is_fortran);
  if (tensor.type.size != 0 && tree.kind(parts.data) == Kind::bytes) {
    tensor.storage_count = static_cast<std::int64_t>(tree.text(parts.data).size() / tensor.type.size);
  }
  return tensor;
}

/// First and last element that a view touches, in its storage. REQUIRES: count() > 0.
struct Extent {
  std::int64_t first, last;
};

Extent extent_of(const Tensor& tensor) {
  Extent extent{tensor.offset, tensor.offset};
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &reach) ||
        __builtin_add_overflow(extent.last, reach, &extent.last)) {
      reject("that reaches beyond any storage");
    }
    if (reach < 0) reject("with negative strides");
  }
  if (extent.first < 0 || extent.last >= tensor.storage_count) {
    reject(fmt::format("that shows elements {} to {} of a storage of {}", extent.first, extent.last,
                       tensor.storage_count));
  }
  return extent;
}

/// Whether a view's elements already lie in row-major order, side by side. A dimension of one element may stride at
/// will.
bool is_row_major(const Tensor& tensor) {
  std::int64_t step = 1;
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != step) return false;
    step *= tensor.shape[d];
  }
  return true;
}

/// The view's elements in row-major order. `run` holds the storage's elements from extent.first on.
Bytes gather(const Tensor& tensor, Bytes run) {
  if (is_row_major(tensor)) return run;
  const std::size_t size = tensor.type.size;
  const std::uint64_t count = tensor.count();
  Bytes elements(count * size);
  std::vector<std::int64_t> index(tensor.shape.size());
  std::int64_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(elements.data() + i * size, run.data() + static_cast<std::size_t>(at) * size, size);
    for (std::size_t d = index.size(); d-- > 0;) {
      at += tensor.strides[d];
      if (++index[d] < tensor.shape[d]) break;
      at -= tensor.strides[d] * tensor.shape[d];
      index[d] = 0;
    }
  }
  return elements;
}

Span bytes_of(const Extent& extent, std::uint32_t element_size) {
  const auto first = static_cast<std::uint64_t>(extent.first) * element_size;
  return {first, static_cast<std::uint64_t>(extent.last - extent.first + 1) * element_size};
}

}  // namespace

ElementType storage_element(std::string_view class_name) {
  for (const StorageClass& known : storage_classes) {
    if (known.name == class_name) return element_type(known.element);
  }
  return {};
}

std::optional<Tensor> storage_of(const Tree& tree, NodeId node) {
  if (tree.kind(node) == Kind::tensor && tree.arguments(node) == nowhere) return describe_unread(tree, node);
  if (!is_storage(tree, node)) return std::nullopt;
  Tensor storage;
  describe_storage(tree, node, storage);
  return storage;
}

Tensor PickleTensors::describe(NodeId node) const {
  if (tree_.kind(node) != Kind::tensor) return describe_array(tree_, node);
  Tensor tensor = describe_tensor(tree_, node);
  if (const std::string_view change = change_when_shown(tree_, node); !change.empty()) tensor.type = {change, 0};
  return tensor;
}

NodeId PickleTensors::array_bytes(NodeId array) const {
  const NodeId data = array_parts(tree_, array).data;
  if (tree_.kind(data) != Kind::bytes) reject("whose data are no bytes");
  return data;
}

std::endian PickleTensors::array_order(NodeId array) const {
  // dtype's state is (version, byte order, ...); its code may bear the order too.
  const NodeId dtype = array_parts(tree_, array).dtype;
  const NodeId state = tree_.state(dtype);
  const NodeId order = state == nowhere || tree_.items(state).size() < 2 ? nowhere : tree_.items(state)[1];
  const bool is_big = order != nowhere && tree_.kind(order) == Kind::string && tree_.text(order) == ">";
  return is_big ? std::endian::big : std::endian::little;
}

Bytes PickleTensors::elements(NodeId node) const {
  const Tensor tensor = describe(node);
  if (tensor.type.size == 0 || tensor.count() == 0) return {};
  const Extent extent = extent_of(tensor);
  const Span range = bytes_of(extent, tensor.type.size);
  if (std::max(range.size, tensor.count() * tensor.type.size) > limits::max_tensor_read_bytes) {
    throw Error(Status::refused, fmt::format("a tensor spread over {} bytes is not read", range.size));
  }
  Bytes run;
  std::endian order{};
  if (tree_.kind(node) == Kind::array) {
    const ByteView data = as_bytes(tree_.text(array_bytes(node))).subspan(range.offset, range.size);
    run.assign(data.begin(), data.end());
    order = array_order(node);
  } else if (const NodeId stream = stream_of_tensor(tree_, node); stream != nowhere) {
    const ByteView bytes = as_bytes(tree_.text(stream));
    const StreamedStorage storage = read_streamed_storage(bytes);
    const ByteView data = bytes.subspan(storage.data.offset + range.offset, range.size);
    run.assign(data.begin(), data.end());
    order = storage.order;
  } else {
    if (storages_ == nullptr) reject("whose storage is not in this file");
    const Span storage =
        storages_->find(tensor.storage, static_cast<std::uint64_t>(tensor.storage_count) * tensor.type.size);
    run = storages_->source().read({storage.offset + range.offset, range.size});
    order = storages_->order();
  }
  turn_elements(run, tensor.type.size, order);
  return gather(tensor, std::move(run));
}

void PickleTensors::read_ahead(std::span<const NodeId> nodes) const {
  std::vector<std::string> keys;
  for (const NodeId node : nodes) {
    if (tree_.kind(node) != Kind::tensor || stream_of_tensor(tree_, node) != nowhere) continue;
    try {
      const Tensor tensor = describe(node);
      if (static_cast<std::uint64_t>(tensor.storage_count) <= most_bytes_ahead / std::max(tensor.type.size, 1u)) {
        keys.emplace_back(tensor.storage);
      }
    } catch (const Error&) {
      continue;  // told where it is asked for
    }
  }
  storages_->read_ahead(keys);
}

TensorPlace PickleTensors::place_of(NodeId node) const {
  TensorPlace place{describe(node), {}, std::endian::little, false};
  const Tensor& tensor = place.tensor;
  if (tensor.count() > 0) extent_of(tensor);  // that it lies in its storage
  if (const NodeId stream = stream_of_tensor(tree_, node); stream != nowhere) {
    if (tree_[stream].store != RunIn::text) {
      throw Error(Status::refused, "a tensor whose bytes stand encoded in the pickle is not changed",
                  "load the checkpoint with its framework and save it anew");
    }
    const StreamedStorage storage = read_streamed_storage(as_bytes(tree_.text(stream)));
    place.storage = {tree_[stream].as.run.first + storage.data.offset, storage.data.size};
    place.order = storage.order;
    place.is_in_pickle = true;
    return place;
  }
  if (storages_ == nullptr) reject("whose storage is not in this file");
  const auto size = static_cast<std::uint64_t>(tensor.storage_count) * tensor.type.size;
  place.storage = storages_->find(tensor.storage, size);
  place.order = storages_->order();
  return place;
}

Span TensorPlace::element(std::uint64_t index) const {
  std::int64_t at = tensor.offset;
  for (std::size_t d = tensor.shape.size(); d-- > 0;) {
    const auto size = static_cast<std::uint64_t>(tensor.shape[d]);
    at += static_cast<std::int64_t>(index % size) * tensor.strides[d];
    index /= size;
  }
  return {storage.offset + static_cast<std::uint64_t>(at) * tensor.type.size, tensor.type.size};
}

NodeId PickleTensors::stream_of(NodeId tensor) const {
  return stream_of_tensor(tree_, tensor);
}

std::shared_ptr<const Tree> PickleTensors::open(NodeId node) const {
  return open_nested_tree(tree_, node, storages_ == nullptr ? "a pickle" : storages_->source().name());
}

SharedStorages::SharedStorages(const Tree& tree) {
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::tensor) continue;
    const Tensor tensor = describe_tensor(tree, node);
    if (tensor.count() == 0 || tensor.type.size == 0) continue;
    const NodeId stream = stream_of_tensor(tree, node);
    std::string key =
        stream == nowhere ? std::string(tensor.storage) : std::string("\n").append(std::to_string(stream));
    views_[std::move(key)].push_back({node, bytes_of(extent_of(tensor), tensor.type.size)});
  }
}

bool SharedStorages::is_shown_elsewhere(const Tree& tree, NodeId node) const {
  const Tensor tensor = describe_tensor(tree, node);
  if (tensor.count() == 0) return false;
  const Span element = bytes_of(extent_of(tensor), tensor.type.size);
  const NodeId stream = stream_of_tensor(tree, node);
  const auto views =
      views_.find(stream == nowhere ? std::string(tensor.storage) : std::string("\n").append(std::to_string(stream)));
  return views != views_.end() && std::any_of(views->second.begin(), views->second.end(), [&](const View& view) {
           return view.node != node && view.shown.offset < element.end() && element.offset < view.shown.end();
         });
}

}  // namespace tare
