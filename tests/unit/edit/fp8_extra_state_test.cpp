#include "lib/edit/fp8_extra_state.hpp"

#include "lib/base/text.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

/// What is left of an extra state in a tensor.
std::string left_in_tensor(const std::optional<TeRelease>& release) {
  Tree tree;
  Node tensor;
  tensor.kind = Kind::tensor;
  const NodeValue value = emptied(tree, tree.add(tensor), release);
  const SharedBytes& bytes = std::get<NewContents>(value).bytes;
  return std::string(as_text({bytes.data(), bytes.size()}));
}

}  // namespace

TEST_CASE("a stripped tensor is read by every release, 2.0 to 2.3, which unpickle nothing too, among them") {
  const std::string none = left_in_tensor(std::nullopt);
  CHECK(none.ends_with("N."));
  CHECK(left_in_tensor(TeRelease{2, 3}) == none);
  CHECK(left_in_tensor(TeRelease{2, 4}).empty());
}

TEST_CASE("a stripped stream is None, whatever the release") {
  Tree tree;
  const NodeId stream = tree.add({});
  CHECK(std::holds_alternative<NewNone>(emptied(tree, stream, std::nullopt)));
  CHECK(std::holds_alternative<NewNone>(emptied(tree, stream, TeRelease{2, 4})));
}
