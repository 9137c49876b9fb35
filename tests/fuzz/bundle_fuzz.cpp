// Any bytes as the block of a TensorFlow checkpoint's index, sealed with the checksums and the footer that it needs,
// and as its data files: all variables are read, numbers are changed, and a fresh read gives them.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/crc32c.hpp"
#include "lib/base/error.hpp"
#include "lib/container/tensorflow/tensor_bundle.hpp"
#include "lib/container/varint.hpp"
#include "tests/fuzz/two_files.hpp"

namespace {

using namespace tare;

constexpr auto index_name = "a.index";
constexpr std::size_t most_changes = 4;

/// One block of rows, and the index block that names it.
Bytes sealed(ByteView block) {
  Bytes table;
  const auto add = [&](ByteView content) {
    const std::size_t begin = table.size();
    table.insert(table.end(), content.begin(), content.end());
    table.push_back(std::byte{0});  // not compressed
    append_le(table, masked_crc32c(ByteView(table).subspan(begin)));
    return Span{begin, content.size()};
  };
  const Span rows = add(block);
  Bytes handle;
  append_varint(handle, rows.offset);
  append_varint(handle, rows.size);
  Bytes index;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{handle.size()}}) {
    append_varint(index, number);
  }
  index.push_back(std::byte{'z'});
  index.insert(index.end(), handle.begin(), handle.end());
  append_le(index, std::uint32_t{0});
  append_le(index, std::uint32_t{1});
  const Span indices = add(index);
  Bytes footer;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{0}, indices.offset, indices.size}) {
    append_varint(footer, number);
  }
  footer.resize(40);
  append_le(footer, std::uint64_t{0xdb4775248b80fb57});
  table.insert(table.end(), footer.begin(), footer.end());
  return table;
}

std::unique_ptr<Container> open_all(const std::shared_ptr<TwoFiles>& files) {
  return open_tensor_bundle(files, index_name,
                            [](const BundleIndex& index) { return std::vector<bool>(index.items.size(), true); });
}

void change(const TwoFiles& files, const Container& container, NodeId node) {
  constexpr double wanted = 64;
  const NodeChange change{node, wanted, "a value"};
  std::vector<PartChange> changes;
  try {
    changes = container.change_parts({&change, 1});
  } catch (const Error&) {
    return;  // refused
  }
  const auto changed = std::make_shared<TwoFiles>(files);
  changed->apply(changes);
  const auto again = open_all(changed);
  if (again->tree().size() != container.tree().size()) __builtin_trap();
  const Value value = again->tree().value(node, 1);
  if (value.number() == nullptr || value.as_double() != wanted) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t prefix = 2;
  if (size < prefix) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const ByteView rest = bytes.subspan(prefix);
  const std::size_t split = std::min<std::size_t>(load_le<std::uint16_t>(bytes.data()), rest.size());
  const auto files = std::make_shared<TwoFiles>(index_name, sealed(rest.first(split)),
                                                Bytes(rest.begin() + static_cast<std::ptrdiff_t>(split), rest.end()));
  try {
    const auto container = open_all(files);
    // One image would stand for several files, or one place for several variables: a change would touch others.
    if (container->parts().size() > 2 || container->tree().size() > 2 * most_changes) return 0;
    std::size_t tensors = 0;
    NodeId only = nowhere;
    for (NodeId node = 0; node < container->tree().size(); ++node) {
      if (container->tree().kind(node) != Kind::tensor) continue;
      only = node;
      ++tensors;
    }
    if (tensors == 1 && container->findings().empty()) change(*files, *container, only);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
