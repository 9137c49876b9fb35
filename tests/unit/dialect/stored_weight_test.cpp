// Models in 8 and 4 bits, each as its framework writes it. One finder serves all of these frameworks.
#include "lib/dialect/stored_weight.hpp"

#include <algorithm>
#include <set>

#include "lib/dialect/found.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tensors.hpp"

using namespace tare;

namespace {

/// A key and the type of its tensor.
using Stored = std::vector<std::pair<std::string, std::string_view>>;
struct Writer {
  const Dialect* dialect;
  Stored layer;
};

const std::vector<Writer> writers = {
    {&deepseek_fp8_weight, {{"a.weight", "float8_e4m3fn"}, {"a.weight_scale_inv", "float32"}}},
    {&compressed_tensors_weight, {{"b.weight", "float8_e4m3fn"}, {"b.weight_scale", "bfloat16"}}},
    {&compressed_tensors_fp4_weight,
     {{"c.weight_packed", "uint8"}, {"c.weight_scale", "float8_e4m3fn"}, {"c.weight_global_scale", "float32"}}},
    {&modelopt_weight, {{"d.weight", "uint8"}, {"d.weight_scale", "float8_e4m3fn"}, {"d.weight_scale_2", "float32"}}},
    {&mxfp4_weight, {{"e.down_proj_blocks", "uint8"}, {"e.down_proj_scales", "uint8"}}},
    {&comfyui_weight, {{"f.weight", "float8_e4m3fn"}, {"f.scale_weight", "float32"}}},
    {&torchao_flat_weight, {{"g._weight_qdata", "float8_e4m3fn"}, {"g._weight_scale", "float32"}}},
};

/// The framework of each state in a model that holds all of `stored`, in the order in which they are found.
std::vector<const Dialect*> found_in(const Stored& stored) {
  MadeTree made;
  const auto tensors = std::make_shared<MadeTensors>();
  std::vector<NodeId> items;
  for (const auto& [key, type] : stored) {
    items.push_back(made.text(key));
    items.push_back(tensors->add(made, type));
  }
  made.tree.root = made.tree.add_items(Kind::map, items, {});
  made.tree.install(tensors);
  std::vector<Finding> findings;
  std::vector<const Dialect*> found;
  for (const FoundScaler& state : find_scalers(made.tree, {"model.safetensors"}, findings)) {
    found.push_back(state.dialect);
  }
  return found;
}

using Found = std::vector<const Dialect*>;

/// How many states there are with a k_scale of so many numbers in a module whose weight is of that type.
std::size_t count_of_attention_scales(std::int64_t numbers, std::string_view weight, std::string_view other_weight) {
  MadeTree made;
  const auto tensors = std::make_shared<MadeTensors>();
  made.tree.root = made.map({{"a.k_proj.weight", tensors->add(made, weight)},
                             {"a.k_proj.k_scale", tensors->add(made, "float32", {numbers})},
                             {"a.o_proj.weight", tensors->add(made, other_weight)}});
  made.tree.install(tensors);
  std::vector<Finding> findings;
  return find_scalers(made.tree, {"model.safetensors"}, findings).size();
}

}  // namespace

TEST_CASE("a model in 8 or 4 bits is told by what its framework alone writes, though one finder looks for all") {
  for (const Writer& writer : writers) {
    INFO(writer.dialect->framework);
    CHECK(found_in(writer.layer) == Found{writer.dialect});
  }
}

TEST_CASE("layers of every framework in one model are found, each once, and by their own framework") {
  Stored model;
  std::set<const Dialect*> all;
  for (const Writer& writer : writers) {
    model.insert(model.begin(), writer.layer.begin(), writer.layer.end());  // not the order of the table
    all.insert(writer.dialect);
  }
  const Found found = found_in(model);
  CHECK(std::set(found.begin(), found.end()) == all);
  CHECK(found.size() == writers.size());
}

TEST_CASE("a cache of keys and values in FP8 is seen beside weights of any float, learned vectors are none of it") {
  CHECK(count_of_attention_scales(1, "bfloat16", "bfloat16") == 1);
  CHECK(count_of_attention_scales(64, "bfloat16", "bfloat16") == 0);
  CHECK(count_of_attention_scales(64, "bfloat16", "float8_e4m3fn") == 1);
  CHECK(count_of_attention_scales(1, "int8", "bfloat16") == 0);
}

TEST_CASE("no framework of stored weights is left out here") {
  for (const Dialect* dialect : dialects()) {
    INFO(dialect->framework);
    const bool is_one = dialect->find_in == find_stored_weights || dialect->find_in == found_with_other_weights;
    const auto is_its = [&](const Writer& writer) { return writer.dialect == dialect; };
    CHECK(std::any_of(writers.begin(), writers.end(), is_its) == is_one);
  }
}
