#include "lib/checkpoint/rank_set.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace tare;

namespace {

std::vector<Finding> told(const std::vector<std::string>& paths,
                          const std::vector<std::vector<std::size_t>>& holders = {}, std::vector<Finding> before = {},
                          const SizesByFolder& sizes = {}) {
  std::vector<CheckpointFile> files;
  for (const std::string& path : paths) files.emplace_back().path = path;
  std::vector<Scaler> scalers;
  for (const auto& holder : holders) {
    Scaler& scaler = scalers.emplace_back();
    scaler.found.dialect = dialects().front();
    for (const std::size_t file : holder) scaler.copies.push_back({file, {file}});
  }
  const std::size_t known = before.size();
  tell_of_incomplete_ranks(scalers, files, sizes, before);
  return {before.begin() + static_cast<std::ptrdiff_t>(known), before.end()};
}

}  // namespace

TEST_CASE("a gap in the ranks is told, a whole grid is not") {
  CHECK(told({"mp_rank_00/m.pt", "mp_rank_01/m.pt"}).empty());
  CHECK(told({"rank_0_dp_rank_0.pt", "rank_0_dp_rank_1.pt", "rank_1_dp_rank_0.pt", "rank_1_dp_rank_1.pt"}).empty());
  CHECK(told({"epoch_3.pt", "epoch_7.pt"}).empty());
  const auto gap = told({"rank0.pt", "rank1.pt", "rank4.pt"});
  REQUIRE(gap.size() == 1);
  CHECK(gap[0].code == "rank-missing");
  CHECK(gap[0].severity == Severity::error);
  CHECK(gap[0].message == "5 rank files are expected and 3 there: not that of ranks 2, 3");
  const auto corner = told({"mp_rank_00_000/m.pt", "mp_rank_00_001/m.pt", "mp_rank_01_001/m.pt"});
  REQUIRE(corner.size() == 1);
  CHECK(corner[0].message == "4 rank files are expected and 3 there: not that of rank 1_0");
}

TEST_CASE("of many ranks that are missing the first are named, and the others counted") {
  const auto gap = told({"rank0.pt", "rank19.pt", "rank1.pt"});
  REQUIRE(gap.size() == 1);
  const std::string& message = gap[0].message;
  REQUIRE(message.starts_with("20 rank files are expected and 3 there: not that of ranks 2, 3, 4"));
  const auto named = static_cast<std::size_t>(std::ranges::count(message, ',')) + 1;
  CHECK(message.ends_with(" and " + std::to_string(17 - named) + " more"));
}

TEST_CASE("numbers that are no grid of ranks are left alone") {
  CHECK(told({"rank_0/net_rank_0.ckpt", "rank_1/net_rank_1.ckpt", "rank_2/net_rank_2.ckpt"}).empty());
  CHECK(told({"rank_0.pt", "rank_20261121.pt"}).empty());
  CHECK(told({"__0_0.distcp", "__3_1.distcp"}).empty());
  CHECK(told({"mp_rank_00/m.pt", "mp_rank_00_001/m.pt", "mp_rank_03_000/m.pt"}).empty());
  CHECK(told({"mp_rank_00_000/m.pt", "mp_rank_01/m.pt", "mp_rank_03_003/m.pt"}).empty());
}

TEST_CASE("a file that cannot be read is there") {
  CHECK(told({"rank0.pt", "rank2.pt"}, {}, {{Severity::error, "file-not-read", "cut short", "rank1.pt", ""}}).empty());
}

TEST_CASE("a part that a distributed checkpoint lacks shows no ranks by its name") {
  CHECK(told({".metadata"}, {}, {{Severity::error, "file-not-read", "not there", "__3_0.distcp", ""}}).empty());
}

TEST_CASE("a scaler that some ranks lack is told with those ranks, unless one alone has it") {
  const std::vector<std::string> paths = {"rank0.pt", "rank1.pt", "rank2.pt", "rank3.pt"};
  CHECK(told(paths, {{0, 1, 2, 3}}).empty());
  CHECK(told(paths, {{0}}).empty());
  const auto absent = told(paths, {{0, 2}});
  REQUIRE(absent.size() == 1);
  CHECK(absent[0].code == "copies-missing");
  CHECK(absent[0].severity == Severity::error);
  CHECK(absent[0].message == "2 rank files hold it, but not that of ranks 1, 3");
}

namespace {

/// What is told of files of one folder that says this of its ranks.
std::vector<std::string> messages(const std::vector<std::string>& paths, const RankSizes& sizes) {
  std::vector<std::string> texts;
  for (const Finding& finding : told(paths, {}, {}, {{"", sizes}})) texts.push_back(finding.message);
  return texts;
}

const std::vector<std::string> deepspeed = {"mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt",
                                            "zero_pp_rank_1_mp_rank_00_optim_states.pt"};

}  // namespace

TEST_CASE("the first rank is missed, too") {
  REQUIRE(told({"rank1.pt"}).size() == 1);
  CHECK(told({"rank1.pt"})[0].message == "2 rank files are expected and 1 there: not that of rank 0");
}

TEST_CASE("the last ranks are missed where a file says how many there are") {
  RankSizes sizes;
  sizes.partitions = 2, sizes.data = 2, sizes.model = 1, sizes.zero_stage = 2;
  CHECK(messages(deepspeed, sizes).empty());
  sizes.partitions = 4;
  CHECK(messages(deepspeed, sizes) ==
        std::vector<std::string>{"4 rank files are expected and 2 there: not that of ranks 2_0, 3_0"});
  RankSizes megatron;
  megatron.model = 2, megatron.pipeline = 2, megatron.expert = 1;
  CHECK(messages({"mp_rank_00_000/m.pt", "mp_rank_00_001/m.pt"}, megatron).size() == 1);
  CHECK(messages({"mp_rank_00/m.pt", "mp_rank_01/m.pt"}, megatron).empty());
}

TEST_CASE("a kind of files that is not there at all is missed") {
  RankSizes sizes;
  sizes.data = 2, sizes.zero_stage = 2;
  CHECK(messages({deepspeed[0]}, sizes).size() == 1);
  CHECK(messages({deepspeed[1], deepspeed[2]}, {}).size() == 1);
  CHECK(messages({deepspeed[0], "zero/optimizer_state.pt"}, sizes).empty());
  sizes.zero_stage = 0;
  CHECK(messages({deepspeed[0]}, sizes).empty());
}

TEST_CASE("numbers that no run has are not believed") {
  RankSizes sizes;
  sizes.partitions = std::uint64_t{1} << 62, sizes.model = std::uint64_t{1} << 62;
  CHECK(messages(deepspeed, sizes).size() <= 1);
}

TEST_CASE("names say how many files belong together") {
  CHECK(told({"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}).empty());
  const auto one = told({"model-00002-of-00003.safetensors"});
  REQUIRE(one.size() == 1);
  CHECK(one[0].message == "its name says that 3 files belong together, and 1 is there");
  CHECK(told({"state-of-the-art.pt", "-of-5.pt"}).empty());
}

TEST_CASE("what is expected has a name, of the others' form") {
  RankSizes sizes;
  sizes.partitions = 3, sizes.data = 3, sizes.model = 1, sizes.zero_stage = 1;
  CHECK(absent_rank_files(deepspeed, {{"", sizes}}) ==
        std::vector<std::string>{"zero_pp_rank_2_mp_rank_00_optim_states.pt"});
  CHECK(absent_rank_files({"step0/rank_0.pt", "step0/rank_2.pt"}, {}) == std::vector<std::string>{"step0/rank_1.pt"});
  CHECK(absent_rank_files({"s1/" + deepspeed[1]}, {{"s1/", sizes}}).back() == "s1/mp_rank_00_model_states.pt");
  RankSizes megatron;
  megatron.model = 2, megatron.pipeline = 1;
  CHECK(absent_rank_files({"mp_rank_00/model_optim_rng.pt"}, {{"", megatron}}) ==
        std::vector<std::string>{"mp_rank_01/model_optim_rng.pt"});
}

TEST_CASE("of DeepSpeed's older names, too, the last rank is missed and all that belong together are counted") {
  const std::vector<std::string> old = {"mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00optim_states.pt"};
  RankSizes sizes;
  sizes.partitions = 2, sizes.data = 2, sizes.model = 1, sizes.zero_stage = 2;
  CHECK(messages(old, sizes) ==
        std::vector<std::string>{"2 rank files are expected and 1 there: not that of rank 1_0"});
  CHECK(absent_rank_files(old, {{"", sizes}}) == std::vector<std::string>{"zero_pp_rank_1_mp_rank_00optim_states.pt"});
  CHECK(messages({old[1]}, {}).size() == 1);  // the model's
}
