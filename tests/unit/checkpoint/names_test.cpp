#include "lib/checkpoint/names.hpp"
#include "lib/dialect/rank_name.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <vector>

using namespace tare;

TEST_CASE("numbers in names are ordered as numbers, folders before their longer neighbours") {
  std::vector<std::string> names = {"rank10.pt", "rank2.pt", "rank02.pt", "a/2", "a1/1", "a/10", "rank1.pt"};
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return natural_less(a, b); });
  CHECK(names == std::vector<std::string>{"a/2", "a/10", "a1/1", "rank1.pt", "rank02.pt", "rank2.pt", "rank10.pt"});
}

TEST_CASE("the order of names is strict and total") {
  const std::vector<std::string> names = {"", "1", "01", "001", "a", "a1", "a01", "a1b", "a/1", "a10", "-", "_", "é"};
  for (const auto& a : names) {
    CHECK_FALSE(natural_less(a, a));
    for (const auto& b : names) {
      if (a != b) CHECK(natural_less(a, b) != natural_less(b, a));
      for (const auto& c : names) {
        if (natural_less(a, b) && natural_less(b, c)) CHECK(natural_less(a, c));
      }
    }
  }
}

TEST_CASE("ranks of a pipeline and of experts hold layers of their own, tensor- and data-parallel ones the same") {
  CHECK(layers_group("mp_rank_01_003_002/model_optim_rng.pt") == "mp_rank_*_003_002/model_optim_rng.pt");
  CHECK(layers_group("mp_rank_00/model_optim_rng.pt") == "mp_rank_*/model_optim_rng.pt");
  CHECK(layers_group("tp_rank_00_pp_rank_001/last.ckpt") == "tp_rank_*_pp_rank_001/last.ckpt");
  CHECK(layers_group("zero_pp_rank_0_mp_rank_00_optim_states.pt") == "zero_pp_rank_*_mp_rank_*_optim_states.pt");
  CHECK(layers_group("ckpt_7/rank_7.ckpt") == "ckpt_*/rank_*.ckpt");
  CHECK(layers_group("layer_02-model_00-model_states.pt") == "layer_02-model_00-model_states.pt");
}

TEST_CASE("names that frameworks give to rank files are told from names of steps and epochs") {
  struct Row {
    const char* path;
    const char* group;  ///< null: no rank
  };
  for (const Row& row : {
           Row{"zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank*_mp_rank*_optim_states.pt"},
           Row{"bf16_zero_pp_rank_11_mp_rank_02_optim_states.pt", "bf16_zero_pp_rank*_mp_rank*_optim_states.pt"},
           Row{"mp_rank_00/model_optim_rng.pt", "mp_rank*/model_optim_rng.pt"},
           Row{"mp_rank_01_003_002/model_optim_rng.pt", "mp_rank*/model_optim_rng.pt"},
           Row{"tp_rank_00_pp_rank_001/last.ckpt", "tp_rank*_pp_rank*/last.ckpt"},
           Row{"rank0.pt", "rank*.pt"},
           Row{"ep1-ba6-rank12.pt", "ep1-ba6-rank*.pt"},
           Row{"model_world_size_8_rank_3.pt", "model_world_size_8_rank*.pt"},
           Row{"checkpoint_last-shard3.pt", "checkpoint_last-shard*.pt"},
           Row{"checkpoint_1-model_part-0-shard1.pt", "checkpoint_1-model_part*-shard*.pt"},
           Row{"tp_0/state.pt", "tp*/state.pt"},
           Row{"random_states_12.pkl", "random_states*.pkl"},
           Row{"rank_0_100.pt", "rank*_100.pt"},
           Row{"ckpt_7/rank_7.ckpt", "ckpt_*/rank*.ckpt"},
           Row{"net/ckpt_12/rank_12-3_4.ckpt", "net/ckpt_*/rank*-3_4.ckpt"},
           Row{"ckpt_7/rank_3.ckpt", "ckpt_7/rank*.ckpt"},  // of step 7
           Row{"ckpt_7/rank_71.ckpt", "ckpt_7/rank*.ckpt"},
           Row{"my_ckpt_7/rank_7.ckpt", "my_ckpt_7/rank*.ckpt"},
           Row{"ckpt_7/net.ckpt", nullptr},
           Row{"epoch_1.pt", nullptr},
           Row{"checkpoint-2.pth.tar", nullptr},
           Row{"global_step5/model.pt", nullptr},
           Row{"frank3.pt", nullptr},
           Row{"model_tp8.pt", nullptr},
           Row{"ranking.pt", nullptr},
           Row{"rank.pt", nullptr},
           Row{"fold_1.pt", nullptr},
       }) {
    INFO(row.path);
    const auto group = rank_group(row.path);
    REQUIRE(group.has_value() == (row.group != nullptr));
    if (group) CHECK(*group == row.group);
  }
}

TEST_CASE("only a plain relative name may be followed") {
  for (const char* name : {"global_step5", "a/b", "best-model", "..a", "a..", "."}) CHECK(is_plain_relative(name));
  for (const char* name : {"", "/etc", "..", "../x", "a/../..", "a/.."}) CHECK_FALSE(is_plain_relative(name));
  CHECK_FALSE(is_plain_relative(std::string_view("a\0b", 3)));
}

TEST_CASE("an extension is the last one, in lower case, and a hidden file's name is none") {
  CHECK(extension("a/B.PT") == ".pt");
  CHECK(extension("x.pth.tar") == ".tar");
  CHECK(extension("a.b/plain").empty());
  CHECK(extension(".metadata").empty());
}
