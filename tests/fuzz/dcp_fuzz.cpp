// Any bytes as a distributed checkpoint of one file: all items are read, each number is changed, and a fresh read gives
// the new value. The first two bytes say how many of the others are the metadata.
#include <algorithm>
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/torch/dcp.hpp"
#include "tests/fuzz/two_files.hpp"

using namespace tare;

namespace {

constexpr const char* metadata_name = ".metadata";
constexpr std::size_t most_changes = 8;

std::unique_ptr<Container> open_all(const std::shared_ptr<TwoFiles>& files) {
  return open_torch_dcp(files, metadata_name,
                        [](const DcpMetadata& metadata) { return std::vector<bool>(metadata.items.size(), true); });
}

/// One number changed; whether the rest of that promise holds is for the zip and pickle underneath to show.
void change(const TwoFiles& files, const Container& container, NodeId node) {
  constexpr double wanted = 4096.0;
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
  if (again->tree().size() != container.tree().size() || again->tree().kind(node) != Kind::floating ||
      again->tree()[node].as.floating != wanted) {
    __builtin_trap();
  }
}

/// What is stepped over has no say in where items are.
void require_same_places(const Source& metadata) {
  const auto without_shapes = read_dcp_metadata(metadata);
  std::unique_ptr<const DcpMetadata> whole;
  try {
    whole = read_dcp_metadata(metadata, DcpShapes::read);
  } catch (const Error&) {
    return;  // broken where nobody looks
  }
  const auto is_same = [](const DcpItem& a, const DcpItem& b) {
    return a.key == b.key && a.file == b.file && a.is_tensor == b.is_tensor && a.place.offset == b.place.offset &&
           a.place.size == b.place.size;
  };
  if (without_shapes->files != whole->files || !std::equal(without_shapes->items.begin(), without_shapes->items.end(),
                                                           whole->items.begin(), whole->items.end(), is_same)) {
    __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t prefix = 2;
  if (size < prefix) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const ByteView rest = bytes.subspan(prefix);
  const std::size_t split = std::min<std::size_t>(load_le<std::uint16_t>(bytes.data()), rest.size());
  const auto files =
      std::make_shared<TwoFiles>(metadata_name, Bytes(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(split)),
                                 Bytes(rest.begin() + static_cast<std::ptrdiff_t>(split), rest.end()));
  std::unique_ptr<Container> container;
  try {
    require_same_places(*files->open(metadata_name));
    container = open_all(files);
  } catch (const Error&) {
    return 0;
  }
  // One image would stand for several files; and what lies behind its end could come to be in it.
  const auto& findings = container->findings();
  const bool is_sound = container->parts().size() <= 2 &&
                        std::none_of(findings.begin(), findings.end(),
                                     [](const Finding& finding) { return finding.severity == Severity::error; });
  std::size_t changes = 0;
  for (NodeId node = 0; is_sound && node < container->tree().size() && changes < most_changes; ++node) {
    if (container->tree().kind(node) != Kind::floating) continue;
    change(*files, *container, node);
    ++changes;
  }
  return 0;
}
