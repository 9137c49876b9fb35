// What is said of a file that holds no scaler.
#include <functional>

#include "lib/dialect/found.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tensors.hpp"

using namespace tare;

namespace {

/// A map of so many numbers, by letter.
std::string told_of_keys(std::size_t count) {
  MadeTree made;
  std::vector<NodeId> items;
  for (std::size_t i = 0; i < count; ++i) {
    items.push_back(made.text(std::string(1, static_cast<char>('a' + i))));
    items.push_back(made.integer(1));
  }
  made.tree.root = made.tree.add_items(Kind::map, items, {});
  return describe_contents(made.tree);
}

std::string told_of(const std::function<NodeId(MadeTree&)>& root) {
  MadeTree made;
  made.tree.root = root(made);
  return describe_contents(made.tree);
}

}  // namespace

TEST_CASE("the first eight keys of a file without a scaler are told, and that there are more") {
  CHECK(told_of_keys(1) == "under a");
  CHECK(told_of_keys(7) == "under a, b, c, d, e, f, g");
  CHECK(told_of_keys(8) == "under a, b, c, d, e, f, g, h");
  CHECK(told_of_keys(9) == "under a, b, c, d, e, f, g, h ...");
}

TEST_CASE("long keys are cut, and keys that are no texts are passed over and counted") {
  CHECK(told_of([](MadeTree& made) {
          return made.map({{std::string(39, 'k'), made.none()}, {std::string(41, 'k'), made.none()}});
        }) == "under " + std::string(39, 'k') + ", " + std::string(40, 'k'));
  CHECK(told_of([](MadeTree& made) {
          const std::array items{made.integer(1), made.none(), made.text("a"), made.none()};
          return made.tree.add_items(Kind::map, items, {});
        }) == "under a ...");
  CHECK(told_of([](MadeTree& made) {
          const std::array items{made.integer(1), made.none()};
          return made.tree.add_items(Kind::map, items, {});
        }) == "no tensors and no named values");
}

TEST_CASE("tensors of a file without a scaler are counted, and each of their types is told once") {
  const auto told = [](std::initializer_list<std::string_view> types) {
    MadeTree made;
    const auto tensors = std::make_shared<MadeTensors>();
    std::vector<NodeId> items;
    for (const std::string_view type : types) items.push_back(tensors->add(made, type));
    made.tree.root = made.tree.add_items(Kind::list, items, {});
    made.tree.install(tensors);
    return describe_contents(made.tree);
  };
  CHECK(told({"float32"}) == "1 tensor (float32)");
  CHECK(told({"bfloat16", "int64", "bfloat16"}) == "3 tensors (bfloat16, int64)");
  CHECK(told({"", ""}) == "2 tensors");
}

TEST_CASE("what a scaler that is switched off leaves is told by its place, and of a file that is only that, so") {
  const std::string off = "nothing: what a scaler saves that is switched off";
  CHECK(told_of([](MadeTree& made) { return made.map({}); }) == off);
  CHECK(told_of([](MadeTree& made) { return made.none(); }) == off);
  CHECK(told_of([](MadeTree& made) { return made.number(1); }) == "no tensors and no named values");
  for (const char* key : {"scaler", "grad_scaler", "amp_scaler", "loss_scaler", "scaler_state_dict",
                          "native_amp_scaling_state", "MixedPrecision", "MixedPrecisionPlugin"}) {
    for (const bool is_none : {true, false}) {
      CHECK(told_of([&](MadeTree& made) {
              const NodeId empty = is_none ? made.none() : made.map({});
              return made.map({{"run", made.map({{"step", made.integer(3)}, {key, empty}})}});
            }) == "under run; run." + std::string(key) + " is empty");
    }
  }
  CHECK(told_of([](MadeTree& made) {
          return made.map({{"scaler", made.map({{"x", made.number(2)}})}, {"steps", made.none()}});
        }) == "under scaler, steps");
}

TEST_CASE("an empty scaler is looked for among 64 names, and not among a model's parameters") {
  for (const std::size_t names : {64U, 65U}) {
    MadeTree made;
    std::vector<NodeId> items;
    for (std::size_t i = 1; i < names; ++i) {
      items.push_back(made.text("w" + std::to_string(i)));
      items.push_back(made.number(1));
    }
    items.push_back(made.text("scaler"));
    items.push_back(made.none());
    made.tree.root = made.map({{"all", made.tree.add_items(Kind::map, items, {})}});
    CHECK(describe_contents(made.tree) == (names == 64 ? "under all; all.scaler is empty" : "under all"));
  }
}
