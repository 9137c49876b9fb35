// Places that are left empty where a scaler belongs: what counts as empty, and whose place it is.
#include "lib/dialect/empty_place.hpp"

#include <utility>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

using Parts = std::initializer_list<std::pair<std::string_view, NodeId>>;

/// Megatron's alone: other frameworks keep theirs under the same key, in files of any name.
std::optional<EmptyPlace> megatron_with(MadeTree& made, NodeId scaler, std::string_view file = "model_optim_rng.pt",
                                        std::string_view format = "torch_zip") {
  made.tree.root = made.map({{"optimizer", made.map({{"grad_scaler", scaler}})}});
  auto place = empty_place(made.tree, {file}, format, {});
  return place && place->form->dialect == &megatron_state ? std::move(place) : std::nullopt;
}

}  // namespace

TEST_CASE("a place is empty that holds None, {}, or some of its state's keys and not all") {
  MadeTree made;
  const NodeId tracker = made.integer(3);
  const auto is_empty = [&](Parts parts) { return megatron_with(made, made.map(parts)).has_value(); };
  const auto place = megatron_with(made, made.none());
  REQUIRE(place);
  CHECK(place->path == "optimizer.grad_scaler");
  CHECK(place->key.empty());
  CHECK(is_empty({}));
  CHECK(is_empty({{"scale", made.number(8.0)}}));
  CHECK(is_empty({{"hysteresis_tracker", tracker}, {"other", tracker}}));
  CHECK(is_empty({{"scale", made.none()}, {"growth_tracker", tracker}, {"hysteresis_tracker", tracker}}));
  CHECK(is_empty({{"StructuredToParameterName@@", made.map({})}}));  // as paddle.save writes {}
}

TEST_CASE("a place that holds a whole state, or something else, is not empty") {
  MadeTree made;
  const NodeId tracker = made.integer(3);
  const auto is_empty = [&](Parts parts) { return megatron_with(made, made.map(parts)).has_value(); };
  CHECK_FALSE(is_empty({{"scale", made.number(8.0)}, {"growth_tracker", tracker}, {"hysteresis_tracker", tracker}}));
  CHECK_FALSE(is_empty({{"other", tracker}}));
  CHECK_FALSE(is_empty({{"StructuredToParameterName@@", made.map({})}, {"other", tracker}}));
  CHECK_FALSE(megatron_with(made, made.number(8.0)));
  CHECK_FALSE(megatron_with(made, made.list({})));
}

TEST_CASE("a place is its framework's in files of its name and format, the older of torch's among them") {
  MadeTree made;
  CHECK(megatron_with(made, made.map({}), "mp_rank_00/model_optim_rng.pt"));
  CHECK(megatron_with(made, made.map({}), "common.pt", "torch_legacy"));
  CHECK_FALSE(megatron_with(made, made.map({}), "other.pt"));
  CHECK_FALSE(megatron_with(made, made.map({}), "common.pt", "msgpack"));
}

TEST_CASE("a place of the user's own is filled with what its format usually holds, unless something is there") {
  MadeTree made;
  made.tree.root = made.map({{"mine", made.map({{"empty", made.map({})}, {"whole", made.grad_scaler()}})}});
  const auto at = [&](const std::string& path) { return empty_place(made.tree, {"a.pt"}, "torch_zip", path); };
  const auto place = at("mine.empty");
  REQUIRE(place);
  CHECK(place->path == "mine.empty");
  CHECK(place->form->is_usual);
  CHECK_FALSE(at("mine.whole"));
  CHECK_FALSE(at("mine.gone"));
  CHECK_FALSE(empty_place(made.tree, {"a.pt"}, "torch_zip", {}));
}

TEST_CASE("Lightning's missing key is told by the release that the file names") {
  const auto of = [](std::string_view version, bool has_key, const std::optional<std::string>& at = {}) {
    MadeTree made;
    const NodeId text = made.text(version);
    made.tree.root = has_key ? made.map({{"pytorch-lightning_version", text}, {"MixedPrecision", made.grad_scaler()}})
                             : made.map({{"pytorch-lightning_version", text}});
    return empty_place(made.tree, {"last.ckpt"}, "torch_zip", at);
  };
  REQUIRE(of("2.2.0", false));
  CHECK(of("2.2.0", false)->key == "MixedPrecision");
  CHECK(of("2.2.0", false)->form->dialect == &torch_state);
  CHECK(of("2.2.0", false, "MixedPrecision"));
  CHECK_FALSE(of("2.2.0", false, "scaler"));
  CHECK_FALSE(of("2.2.0", true));
  CHECK_FALSE(of("someday", false));
  REQUIRE(of("1.9.0", false));
  CHECK(of("1.9.0", false)->key == "MixedPrecisionPlugin");
}
