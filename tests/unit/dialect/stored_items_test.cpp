// Which items of a distributed checkpoint are worth reading, told by their keys alone.
#include "lib/dialect/stored_items.hpp"
#include "tests/catch.hpp"

#include <string>

using namespace tare;

namespace {

constexpr std::uint64_t small = 1261;  // what torch.save makes of a number

std::vector<std::string> chosen(const std::vector<StoredItem>& items) {
  const auto flags = possible_state(items);
  REQUIRE(flags.size() == items.size());
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (flags[i]) keys.emplace_back(items[i].key);
  }
  return keys;
}

std::vector<StoredItem> torch_scaler(std::span<const std::string> keys, bool is_tensor) {
  std::vector<StoredItem> items;
  for (const std::string& key : keys) items.push_back({key, is_tensor, small});
  return items;
}

const std::vector<std::string> torch_keys = {"app.scaler.scale", "app.scaler.growth_factor",
                                             "app.scaler.backoff_factor", "app.scaler.growth_interval",
                                             "app.scaler._growth_tracker"};

}  // namespace

TEST_CASE("the fields of a scaler are chosen where all of its dialect's keys are beside each other") {
  auto items = torch_scaler(torch_keys, true);
  CHECK(chosen(items) == torch_keys);
  items.pop_back();
  CHECK(chosen(items).empty());
}

TEST_CASE("fields that stand among other things are chosen alone, however many those are") {
  std::vector<std::string> keys = {"current_loss_scale", "good_steps"};
  for (int i = 0; i < 1000; ++i) keys.push_back("kernel_" + std::to_string(i));
  CHECK(chosen(torch_scaler(keys, true)) == std::vector<std::string>{"current_loss_scale", "good_steps"});
}

TEST_CASE("tensors of a model are not read, whatever their names are") {
  CHECK(chosen({{"model.norm.scale", true, small}, {"model.layers.0.weight", true, 1 << 20}}).empty());
  auto items = torch_scaler(torch_keys, true);
  items[0].size = 1 << 20;  // a scale of a million elements
  CHECK(chosen(items).empty());
}

TEST_CASE("objects are read, since a whole scaler may be in one; those of each parameter and rank are not") {
  CHECK(chosen({{"common_state/shard_0_1", false, 4201},
                {"optimizer.distributed.dp_group_idx_0.grad_scaler/shard_0_1", false, 1641},
                {"scaler", false, 1500},
                {"optim.param_groups.0.lr", false, small},
                {"param_groups.decoder.weight.betas", false, small},
                {"dataloader.dp_rank_0", false, small},
                {"rng_state/shard_0.0_1.2", false, 14693},
                {"blob", false, std::uint64_t{1} << 30}}) ==
        std::vector<std::string>{"common_state/shard_0_1", "optimizer.distributed.dp_group_idx_0.grad_scaler/shard_0_1",
                                 "scaler"});
}

TEST_CASE("a bag of other things beside the keys of a scaler is no scaler") {
  auto keys = torch_keys;
  for (int i = 0; i < 100; ++i) keys.push_back("app.scaler.other" + std::to_string(i));
  CHECK(chosen(torch_scaler(keys, true)).empty());
}

TEST_CASE("FP8 state of modules is read") {
  CHECK(chosen({{"model.layers.0._extra_state", true, 3753}}) ==
        std::vector<std::string>{"model.layers.0._extra_state"});
}

TEST_CASE("each limit on what is read is met by its last byte, and passed by the next") {
  const auto is_chosen = [](std::vector<StoredItem> items) { return !chosen(items).empty(); };
  for (const std::uint64_t more : {0U, 1U}) {
    INFO(more << " more");
    auto fields = torch_scaler(torch_keys, true);
    for (StoredItem& item : fields) item.size = (64 << 10) + more;
    CHECK(is_chosen(fields) == (more == 0));
    CHECK(is_chosen({{"scaler", false, (64 << 20) + more}}) == (more == 0));
    CHECK(is_chosen({{"layer._extra_state", true, (4 << 20) + more}}) == (more == 0));
    std::vector<std::string> keys = torch_keys;
    while (keys.size() < 64 + more) keys.push_back("app.scaler.other" + std::to_string(keys.size()));
    CHECK(is_chosen(torch_scaler(keys, true)) == (more == 0));
  }
}

TEST_CASE("a description counts every item and names each key at the root once, in order, up to six") {
  CHECK(describe_items(std::vector<StoredItem>{}) == "0 tensors and 0 objects under ");
  CHECK(describe_items(std::vector<StoredItem>{{"model.a", true, 1}, {"scaler", false, 1}}) ==
        "1 tensor and 1 object under model, scaler");
  const std::vector<StoredItem> items = {{"model.a", true, 1}, {"model.a", true, 1},  {"model.b", true, 1},
                                         {"optim.x", true, 1}, {"model.c", false, 1}, {"rng/shard_0", false, 1}};
  CHECK(describe_items(items) == "3 tensors and 2 objects under model, optim, rng");
  std::vector<StoredItem> many;
  for (const char* key : {"a.1", "b.1", "c.1", "d.1", "e.1", "f.1"}) many.push_back({key, true, 1});
  CHECK(describe_items(many) == "6 tensors and 0 objects under a, b, c, d, e, f");
  many.push_back({"g.1", true, 1});
  CHECK(describe_items(many) == "7 tensors and 0 objects under a, b, c, d, e, f ...");
}
