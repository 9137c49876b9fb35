#include "lib/checkpoint/rank_set.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace tare;

namespace {

std::vector<Finding> told(const std::vector<std::string>& paths,
                          const std::vector<std::vector<std::size_t>>& holders = {}, std::vector<Finding> before = {}) {
  std::vector<CheckpointFile> files;
  for (const std::string& path : paths) files.emplace_back().path = path;
  std::vector<Scaler> scalers;
  for (const auto& holder : holders) {
    Scaler& scaler = scalers.emplace_back();
    for (const std::size_t file : holder) scaler.copies.push_back({file, {file}});
  }
  const std::size_t known = before.size();
  tell_of_incomplete_ranks(scalers, files, before);
  return {before.begin() + static_cast<std::ptrdiff_t>(known), before.end()};
}

}  // namespace

TEST_CASE("a gap in the ranks is told, a whole grid is not") {
  CHECK(told({"mp_rank_00/m.pt", "mp_rank_01/m.pt"}).empty());
  CHECK(told({"rank_0_dp_rank_0.pt", "rank_0_dp_rank_1.pt", "rank_1_dp_rank_0.pt", "rank_1_dp_rank_1.pt"}).empty());
  CHECK(told({"rank3.pt"}).empty());
  CHECK(told({"epoch_3.pt", "epoch_7.pt"}).empty());
  const auto gap = told({"rank0.pt", "rank1.pt", "rank4.pt"});
  REQUIRE(gap.size() == 1);
  CHECK(gap[0].code == "rank-missing");
  CHECK(gap[0].message == "3 rank files are there, but not that of ranks 2, 3");
  const auto corner = told({"mp_rank_00_000/m.pt", "mp_rank_00_001/m.pt", "mp_rank_01_001/m.pt"});
  REQUIRE(corner.size() == 1);
  CHECK(corner[0].message == "3 rank files are there, but not that of rank 1_0");
}

TEST_CASE("numbers that are no grid of ranks are left alone") {
  CHECK(told({"rank_0/net_rank_0.ckpt", "rank_1/net_rank_1.ckpt", "rank_2/net_rank_2.ckpt"}).empty());
  CHECK(told({"rank_0.pt", "rank_20261121.pt"}).empty());
  CHECK(told({"__0_0.distcp", "__3_1.distcp"}).empty());
}

TEST_CASE("a file that cannot be read is there") {
  CHECK(told({"rank0.pt", "rank2.pt"}, {}, {{Severity::error, "file-not-read", "cut short", "rank1.pt", ""}}).empty());
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
