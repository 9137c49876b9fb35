// Distributed checkpoints as they lie in folders: which copy counts, what is missing, what is read.
#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/choose.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

using Paths = std::vector<std::string>;

const std::string corpus = std::string(TARE_TEST_DATA) + "/corpus/";
const std::string four_ranks = "torch/dcp-plain-4rank-t2.15/step_20/";

const Finding* find(const Checkpoint& checkpoint, std::string_view code) {
  const auto is_it = [&](const Finding& finding) { return finding.code == code; };
  const auto finding = std::find_if(checkpoint.findings.begin(), checkpoint.findings.end(), is_it);
  return finding == checkpoint.findings.end() ? nullptr : &*finding;
}

Paths files_of(const Checkpoint& checkpoint, const Scaler& scaler) {
  Paths paths;
  for (const std::size_t file : files_of(scaler)) paths.push_back(checkpoint.files[file].path);
  return paths;
}

double scale_of(const Scaler& scaler) {
  return scaler.state().find(Role::scale)->value.as_double();
}

/// The four ranks' files of one save, without those in `but`.
void copy_four_ranks(const Scratch& scratch, const std::string& folder, const Paths& but = {}) {
  for (const char* name : {".metadata", "__0_0.distcp", "__1_0.distcp", "__2_0.distcp", "__3_0.distcp"}) {
    if (std::find(but.begin(), but.end(), name) == but.end()) scratch.copy(four_ranks + name, folder + "/" + name);
  }
}

std::string status_text(const std::string& path) {
  try {
    open_checkpoint(path, {});
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a scaler is in the files that hold its fields, not in the metadata that names them") {
  const Checkpoint checkpoint = open_checkpoint(corpus + four_ranks, {});
  REQUIRE(checkpoint.scalers.size() == 1);
  CHECK(files_of(checkpoint, checkpoint.scalers[0]) == Paths{"__0_0.distcp", "__3_0.distcp"});
  CHECK(checkpoint.scalers[0].state().authority == Authority::every_rank);
}

TEST_CASE("metadata files of single ranks are copies that must agree, and do not count beside a common one") {
  const Scratch scratch;
  const std::string from = "torch/dcp-rank-metadata/step_20/";
  for (const char* name : {"__0.metadata", "__1.metadata", "__0_0.distcp", "__1_0.distcp"}) {
    scratch.copy(from + name, std::string("step/") + name);
  }
  const Checkpoint alone = open_checkpoint(scratch.path("step"), {});
  REQUIRE(alone.scalers.size() == 1);
  CHECK(alone.scalers[0].copies.size() == 2);
  CHECK(alone.scalers[0].state().authority == Authority::own_rank);
  scratch.copy("torch/dcp-protocol4/step_20/.metadata", "step/.metadata");
  const Checkpoint common = open_checkpoint(scratch.path("step"), {});
  REQUIRE(common.scalers.size() == 1);
  CHECK(common.files[0].path == ".metadata");
  CHECK(common.scalers[0].copies.size() == 1);
}

TEST_CASE("Megatron's common.pt comes before the common state, and an edit means the one that counts") {
  const Checkpoint checkpoint = open_checkpoint(corpus + "megatron/dist_common_beside/ckpt", {});
  REQUIRE(checkpoint.scalers.size() == 2);
  CHECK(checkpoint.scalers[0].state().authority == Authority::no_rank);
  CHECK(checkpoint.scalers[1].state().authority == Authority::every_rank);
  CHECK(find(checkpoint, "copy-not-loaded") != nullptr);
  const auto chosen = chosen_scalers(checkpoint, {});
  REQUIRE(chosen.size() == 1);
  CHECK(scale_of(*chosen[0]) == 4096.0);
  CHECK(chosen_scalers(checkpoint, {{}, true}).size() == 2);
  const std::string idle = "common_state/shard_0_1[0].optimizer.grad_scaler";
  CHECK(scale_of(*chosen_scalers(checkpoint, {idle, false})[0]) == 512.0);
}

TEST_CASE("data-parallel groups are scalers of their own, and are compared") {
  const Checkpoint alike = open_checkpoint(corpus + "megatron/dist_two_groups/ckpt", {});
  REQUIRE(alike.scalers.size() == 2);
  for (const Scaler& scaler : alike.scalers) CHECK(scaler.state().authority == Authority::rank_group);
  CHECK(find(alike, "groups-disagree") == nullptr);
  CHECK_THROWS_AS(chosen_scalers(alike, {}), Error);
  CHECK(chosen_scalers(alike, {{}, true}).size() == 2);
  // Optimizers of one chain may well differ: they are no groups of one another.
  CHECK(find(open_checkpoint(corpus + "megatron/dist_chained_groups/ckpt", {}), "groups-disagree") == nullptr);
}

TEST_CASE("the scaler beside a sharded model of accelerate or Lightning is found, and the shards are no rank copies") {
  const Checkpoint accelerate = open_checkpoint(corpus + "accelerate/fsdp_sharded/state", {});
  REQUIRE(accelerate.scalers.size() == 1);
  CHECK(files_of(accelerate, accelerate.scalers[0]) == Paths{"scaler.pt"});
  const Checkpoint lightning = open_checkpoint(corpus + "lightning/fsdp_sharded/last.ckpt", {});
  REQUIRE(lightning.scalers.size() == 1);
  CHECK(files_of(lightning, lightning.scalers[0]) == Paths{"meta.pt"});
  CHECK(lightning.scalers[0].state().place == "Lightning, 2.1.1 or newer, with FSDP");
}

TEST_CASE("a universal checkpoint beside the ranks' own is told, and is read where it is alone") {
  const std::string from = "deepspeed/zero1_universal/ckpt/";
  const Checkpoint both = open_checkpoint(corpus + from, {});
  CHECK(both.resolved == corpus + from + "global_step5");
  const auto names_it = [](const Finding& f) {
    return f.message.starts_with("latest_universal names global_step5_uni");
  };
  CHECK(std::any_of(both.findings.begin(), both.findings.end(), names_it));
  const Scratch scratch;
  scratch.copy(from + "latest_universal", "ckpt/latest_universal");
  scratch.copy(from + "global_step5_universal/zero/optimizer_state.pt",
               "ckpt/global_step5_universal/zero/optimizer_state.pt");
  const Checkpoint alone = open_checkpoint(scratch.path("ckpt"), {});
  REQUIRE(alone.scalers.size() == 1);
  CHECK(files_of(alone, alone.scalers[0]) == Paths{"global_step5_universal/zero/optimizer_state.pt"});
  CHECK(alone.scalers[0].state().authority == Authority::every_rank);
}

TEST_CASE("the chunks of zarr arrays are not opened") {
  const Checkpoint checkpoint = open_checkpoint(corpus + "megatron/dist_zarr/ckpt/iter_0000005", {});
  REQUIRE(checkpoint.files.size() == 1);
  CHECK(checkpoint.files[0].path == "common.pt");
  CHECK(checkpoint.scalers.size() == 1);
}

TEST_CASE("missing files are told; where one of them holds a field, the answer is no") {
  const Scratch scratch;
  copy_four_ranks(scratch, "other", {"__1_0.distcp"});
  const Checkpoint other = open_checkpoint(scratch.path("other"), {});
  REQUIRE(find(other, "incomplete-checkpoint") != nullptr);
  CHECK_THAT(find(other, "incomplete-checkpoint")->message, Catch::Contains("1 of its 4 files is not there"));
  CHECK(other.scalers.size() == 1);
  copy_four_ranks(scratch, "own", {"__3_0.distcp"});
  const Checkpoint own = open_checkpoint(scratch.path("own"), {});
  CHECK(own.scalers.empty());
  REQUIRE(find(own, "file-not-read") != nullptr);
  CHECK(find(own, "file-not-read")->severity == Severity::error);
  CHECK(find(own, "no-scaler") == nullptr);
}

TEST_CASE("a save that never finished is passed over, as trainers do, and told") {
  const Scratch scratch;
  copy_four_ranks(scratch, "run/step-10");
  copy_four_ranks(scratch, "run/step-20", {".metadata"});
  const Checkpoint run = open_checkpoint(scratch.path("run"), {});
  CHECK(run.resolved == scratch.path("run/step-10"));
  REQUIRE(find(run, "incomplete-checkpoint") != nullptr);
  CHECK_THAT(find(run, "incomplete-checkpoint")->message, Catch::Contains("step-20: .distcp files without .metadata"));
  CHECK_THAT(status_text(scratch.path("run/step-20")), Catch::Contains(".distcp files without .metadata"));
}

TEST_CASE("Megatron's metadata.json is written last: without it there is no checkpoint for it") {
  const Scratch scratch;
  const std::string from = "megatron/dist_1rank/ckpt/iter_0000005/";
  for (const char* name : {".metadata", "__0_0.distcp"}) scratch.copy(from + name, std::string("iter/") + name);
  const Checkpoint unfinished = open_checkpoint(scratch.path("iter"), {});
  REQUIRE(find(unfinished, "incomplete-checkpoint") != nullptr);
  CHECK_THAT(find(unfinished, "incomplete-checkpoint")->message, Catch::Contains("metadata.json"));
  scratch.copy(from + "metadata.json", "iter/metadata.json");
  CHECK(find(open_checkpoint(scratch.path("iter"), {}), "incomplete-checkpoint") == nullptr);
}

TEST_CASE("one file of a distributed checkpoint stands for all of it") {
  for (const char* name : {"__0_0.distcp", "__3_0.distcp", ".metadata"}) {
    INFO(name);
    const Checkpoint checkpoint = open_checkpoint(corpus + four_ranks + name, {});
    REQUIRE(checkpoint.scalers.size() == 1);
    CHECK(files_of(checkpoint, checkpoint.scalers[0]) == Paths{"__0_0.distcp", "__3_0.distcp"});
  }
  const Scratch scratch;
  scratch.copy(four_ranks + "__0_0.distcp", "__0_0.distcp");
  CHECK_THAT(status_text(scratch.path("__0_0.distcp")), Catch::Contains("no .metadata is beside it"));
}

TEST_CASE("names in the metadata that lead out of the folder are not followed") {
  const Scratch scratch;
  copy_four_ranks(scratch, "step", {"__3_0.distcp"});
  scratch.copy(four_ranks + "__3_0.distcp", "elsewhere.distcp");
  scratch.link("../elsewhere.distcp", "step/__3_0.distcp");
  const Checkpoint linked = open_checkpoint(scratch.path("step"), {});
  CHECK(linked.scalers.empty());
  REQUIRE(find(linked, "file-not-read") != nullptr);
  CHECK_THAT(find(linked, "file-not-read")->message, Catch::Contains("out of the checkpoint"));

  std::ifstream file(corpus + four_ranks + ".metadata", std::ios::binary);
  std::string metadata{std::istreambuf_iterator<char>(file), {}};
  const std::string name = "__3_0.distcp";
  for (std::size_t at = metadata.find(name); at != metadata.npos; at = metadata.find(name, at)) {
    metadata.replace(at, name.size(), "../_0.distcp");
  }
  scratch.write("climbing/.metadata", metadata);
  scratch.copy(four_ranks + "__3_0.distcp", "_0.distcp");
  const Checkpoint climbing = open_checkpoint(scratch.path("climbing"), {});
  CHECK(climbing.scalers.empty());
  const auto is_refused = [](const Finding& f) {
    return f.code == "file-not-read" && f.message.find("may lie outside") != f.message.npos;
  };
  CHECK(std::any_of(climbing.findings.begin(), climbing.findings.end(), is_refused));
}
