// Any bytes as the bodies of an OCDBT database's manifest and of its nodes, put in the envelopes that they need: all
// arrays are read, a number is changed, and a fresh read gives it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/error.hpp"
#include "lib/container/orbax/ocdbt_body.hpp"
#include "lib/container/orbax/ocdbt_item.hpp"
#include "tests/unit/container/image.hpp"

namespace {

using namespace tare;

/// The manifest, and one data file that is there under every name.
class TwoFiles final : public SourceFolder {
 public:
  TwoFiles(Bytes manifest, Bytes data) : manifest_(std::move(manifest)), data_(std::move(data)) {}

  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& name) const override {
    return std::make_shared<MemorySource>(name, name == ocdbt_manifest_name ? manifest_ : data_);
  }
  [[nodiscard]] bool has(const std::string& name) const override { return name == ocdbt_manifest_name; }
  void apply(const std::vector<PartChange>& changes) {
    for (const PartChange& change : changes) {
      Bytes& image = change.part == 0 ? manifest_ : data_;
      image = test::applied(image, change.change);
    }
  }

 private:
  Bytes manifest_;
  Bytes data_;
};

std::unique_ptr<Container> open_all(const std::shared_ptr<const SourceFolder>& files) {
  return open_orbax_ocdbt(files, ocdbt_manifest_name, [](const auto& names) { return names; });
}

void change_first(const TwoFiles& files, const Container& container) {
  constexpr double wanted = 64;
  for (NodeId node = 0; node < container.tree().size(); ++node) {
    if (container.tree().kind(node) != Kind::array) continue;
    const NodeChange change{node, wanted, "a value"};
    std::vector<PartChange> changes;
    try {
      changes = container.change_parts({&change, 1});
    } catch (const Error&) {
      continue;  // refused
    }
    const auto changed = std::make_shared<TwoFiles>(files);
    changed->apply(changes);
    const Value value = open_all(changed)->tree().value(node, 1);
    if (value.number() == nullptr || value.as_double() != wanted) __builtin_trap();
    return;
  }
}

}  // namespace

/// The size of the manifest's body, that body, and the bodies of nodes with their sizes before them. A node's envelope
/// stands where the one before it ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteView rest = std::as_bytes(std::span(data, size));
  const auto take = [&] {
    if (rest.size() < 2) return ByteView();
    const ByteView body = rest.subspan(2, std::min<std::size_t>(load_le<std::uint16_t>(rest.data()), rest.size() - 2));
    rest = rest.subspan(2 + body.size());
    return body;
  };
  const Bytes manifest = ocdbt_envelope(ocdbt_manifest_magic, take(), std::nullopt);
  Bytes nodes;
  while (rest.size() > 2) {
    const Bytes node = ocdbt_envelope(ocdbt_node_magic, take(), std::nullopt);
    nodes.insert(nodes.end(), node.begin(), node.end());
  }
  const auto files = std::make_shared<TwoFiles>(manifest, nodes);
  try {
    const auto container = open_all(files);
    if (container->parts().size() == 2) change_first(*files, *container);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
