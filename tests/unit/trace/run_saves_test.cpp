// Which saves of a run are seen: whatever its folders are called, and whatever its newest save is.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/lost_save.hpp"
#include "lib/checkpoint/resolve.hpp"
#include "lib/trace/checkpoints.hpp"
#include "lib/trace/listed.hpp"
#include "lib/trace/saved_step.hpp"
#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

constexpr const char* torch_file = "torch/train-t2.15/checkpoint.pth";

Trace saves_of(const Scratch& scratch, std::string_view folder) {
  const std::string path = scratch.path(folder);
  TraceOptions options;
  options.files = &local_files();
  return read_run_checkpoints(std::span(&path, 1), options);
}

std::vector<ListedCheckpoint> rows_of(const Scratch& scratch, std::string_view folder) {
  return list_checkpoints(scratch.path(folder),
                          {.open = [](const std::string& one) { return open_checkpoint(one, {}); }});
}

void three_saves(const Scratch& scratch, const std::string& run) {
  for (const int step : {100, 200, 300}) {
    scratch.copy(torch_file, run + "/checkpoint-" + std::to_string(step) + "/scaler.pt");
  }
}

std::vector<std::string> codes_of(const Trace& trace) {
  std::vector<std::string> codes;
  for (const TraceWarning& warning : trace.warnings) codes.push_back(warning.code);
  return codes;
}

using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("a folder whose name has a digit in it hides none of the saves below it") {
  const std::string run = GENERATE(as<std::string>(), "2024-05-01/12-00-00/ckpt", "version_0/checkpoints", "llama-7b",
                                   "exp_iter2", "a/b/c/d/e/f");
  CAPTURE(run);
  const Scratch scratch;
  three_saves(scratch, "runs/" + run);
  CHECK(saves_of(scratch, "runs").checkpoints.size() == 3);
  CHECK(rows_of(scratch, "runs").size() == 3);
}

TEST_CASE("saves whose names tell their step and rank, as Composer's do, are saves of their own") {
  const bool has_link = GENERATE(false, true);
  const int ranks = GENERATE(1, 2);
  const Scratch scratch;
  for (const int step : {10, 20, 30}) {
    for (int rank = 0; rank < ranks; ++rank) {
      scratch.copy(torch_file, fmt::format("runs/a/ep{}-ba{}-rank{}.pt", step / 20, step, rank));
    }
  }
  if (has_link) scratch.link("ep1-ba30-rank0.pt", "runs/a/latest-rank0.pt");
  for (const char* folder : {"runs", "runs/a"}) {
    CHECK(saves_of(scratch, folder).checkpoints.size() == 3);
    const auto rows = rows_of(scratch, folder);
    REQUIRE(rows.size() == 3);
    CHECK(rows[2].path == scratch.path("runs/a/ep1-ba30-rank0.pt"));
  }
  CHECK(open_checkpoint(scratch.path("runs/a"), {}).resolved == scratch.path("runs/a/ep1-ba30-rank0.pt"));
}

TEST_CASE("the only save of a run to which Composer's link leads is seen in it") {
  const Scratch scratch;
  scratch.copy(torch_file, "runs/a/ep0-ba10-rank0.pt");
  scratch.link("ep0-ba10-rank0.pt", "runs/a/latest-rank0.pt");
  CHECK(saves_of(scratch, "runs").checkpoints.size() == 1);
  CHECK(rows_of(scratch, "runs").size() == 1);
}

TEST_CASE("files of ranks that tell one step stay one save") {
  const Scratch scratch;
  for (const char* rank : {"0", "1"}) scratch.copy(torch_file, fmt::format("runs/a/step_5_rank{}.pt", rank));
  CHECK(saves_of(scratch, "runs").checkpoints.size() == 1);
  CHECK(rows_of(scratch, "runs").at(0).path == scratch.path("runs/a"));
}

TEST_CASE("a run's newest save that is empty, or holds words alone, is told beside those that are well") {
  const Scratch scratch;
  three_saves(scratch, "run");
  std::filesystem::create_directories(scratch.path("run/checkpoint-400"));
  if (GENERATE(false, true)) scratch.write("run/checkpoint-400/config.json", "{}");
  const Trace trace = saves_of(scratch, "run");
  CHECK(codes_of(trace) == Codes{"save-not-read"});
  CHECK_THAT(trace.warnings.front().text, Catch::Contains("checkpoint-400: no checkpoint in this folder"));
  const auto rows = rows_of(scratch, "run");
  REQUIRE(rows.size() == 4);
  CHECK(rows[3].step == 400);
  CHECK(rows[3].findings.at(0).code == "incomplete-checkpoint");
}

TEST_CASE("whoever watches a run is not told that a save which is being made holds nothing") {
  const Scratch scratch;
  three_saves(scratch, "run");
  std::filesystem::create_directories(scratch.path("run/checkpoint-400"));
  const std::string path = scratch.path("run");
  TraceOptions options;
  options.files = &local_files();
  const ReadSave read = [](const std::string& one) { return read_save(one, local_files(), nullptr); };
  CHECK(read_run_checkpoints(std::span(&path, 1), options, read).warnings.empty());
  CHECK(codes_of(saves_of(scratch, "run")) == Codes{"save-not-read"});
}

TEST_CASE("a folder of pictures beside the file that is a step's save is no save that holds nothing") {
  const Scratch scratch;
  for (const char* step : {"step_1000", "step_2000"}) {
    scratch.copy(torch_file, fmt::format("run/{}.pt", step));
    scratch.write(fmt::format("run/{}/sample.png", step), "\x89PNG");
  }
  CHECK(codes_of(saves_of(scratch, "run")).empty());
  CHECK_FALSE(lost_save(local_files(), scratch.path("run")));
}

TEST_CASE("a newest save that is a link out of the run is told whether its name has a number or not") {
  const Scratch scratch;
  scratch.copy(torch_file, "other/x.ckpt");
  for (const char* save : {"epoch=0-step=10.ckpt", "epoch=1-step=20.ckpt"})
    scratch.copy(torch_file, fmt::format("run/{}", save));
  std::filesystem::create_symlink("../other/x.ckpt", scratch.path("run/last.ckpt"));
  CHECK(codes_of(saves_of(scratch, "run")) == Codes{"link-not-read"});
}

TEST_CASE("a folder that its writer has not renamed yet is no save of the run") {
  const std::string name =
      GENERATE(as<std::string>(), "checkpoint-400.tmp-1700000", "checkpoint-400.orbax-checkpoint-tmp-7/x");
  const Scratch scratch;
  three_saves(scratch, "run");
  scratch.copy(torch_file, "run/" + name + "/scaler.pt");
  CHECK(saves_of(scratch, "run").checkpoints.size() == 3);
  CHECK(rows_of(scratch, "run").size() == 3);
}

TEST_CASE("NeMo's unfinished save is told as such in the list, and is no step of the course") {
  const Scratch scratch;
  for (const char* save : {"gpt--loss=2.1-step=100-last", "gpt--loss=2.0-step=200-last"}) {
    scratch.copy(torch_file, fmt::format("run/{}.ckpt", save));
  }
  scratch.write("run/gpt--loss=2.0-step=200-last-unfinished", "");
  CHECK(saves_of(scratch, "run").checkpoints.size() == 1);
  const auto rows = rows_of(scratch, "run");
  REQUIRE(rows.size() == 2);
  const auto is_told = [](const ListedCheckpoint& row) {
    return std::ranges::any_of(row.findings, [](const Finding& one) { return one.code == "incomplete-checkpoint"; });
  };
  CHECK(std::ranges::count_if(rows, is_told) == 1);
}

TEST_CASE("a TensorFlow save of two files is one save and one row") {
  const Scratch scratch;
  for (const char* save : {"ckpt-1", "ckpt-2"}) {
    for (const char* end : {".index", ".data-00000-of-00001"}) {
      scratch.copy(fmt::format("tensorflow/checkpoint_legacy/ckpt/{}{}", save, end),
                   fmt::format("run/{}{}", save, end));
    }
  }
  CHECK(saves_of(scratch, "run").checkpoints.size() == 2);
  CHECK(rows_of(scratch, "run").size() == 2);
}

TEST_CASE("an empty folder that no resume takes is no save") {
  const Scratch scratch;
  three_saves(scratch, "run");
  std::filesystem::create_directories(scratch.path("run/checkpoint-50"));
  CHECK(saves_of(scratch, "run").warnings.empty());
  CHECK(rows_of(scratch, "run").size() == 3);
}

TEST_CASE("a run whose newest save was moved elsewhere and linked is not read as if the one before were the newest") {
  const Scratch scratch;
  three_saves(scratch, "run");
  scratch.copy(torch_file, "store/checkpoint-400/scaler.pt");
  scratch.link("../store/checkpoint-400", "run/checkpoint-400");
  CHECK_THROWS_AS(open_checkpoint(scratch.path("run"), {}), LinkNotFollowed);
  CHECK(codes_of(saves_of(scratch, "run")) == Codes{"link-not-read"});
  const auto rows = rows_of(scratch, "run");
  REQUIRE(rows.size() == 4);
  CHECK(rows[3].findings.at(0).code == "link-not-read");
  CHECK(open_checkpoint(scratch.path("run/checkpoint-400"), {}).scalers.size() == 1);
}

TEST_CASE("links to older saves, inside of the run and to nothing leave a run as it is") {
  const Scratch scratch;
  three_saves(scratch, "run");
  scratch.copy(torch_file, "store/checkpoint-50/scaler.pt");
  scratch.link("../store/checkpoint-50", "run/checkpoint-50");
  scratch.link("checkpoint-300", "run/checkpoint-999");
  scratch.link("gone", "run/checkpoint-1000");
  CHECK(open_checkpoint(scratch.path("run"), {}).resolved == scratch.path("run/checkpoint-300"));
  CHECK(saves_of(scratch, "run").warnings.empty());
  CHECK(rows_of(scratch, "run").size() == 3);
}

TEST_CASE("a checkpoint with a model beside the runs' folders does not fold them into one") {
  const Scratch scratch;
  scratch.copy("lightning/v2_6_fp32/last.ckpt", "nest/pretrained.pt");
  three_saves(scratch, "nest/out");
  CHECK(rows_of(scratch, "nest").size() == 3);
}

TEST_CASE("what lies deeper than is looked into is told") {
  const Scratch scratch;
  std::string deep = "runs";
  for (int i = 0; i < 17; ++i) deep += "/x";
  three_saves(scratch, deep);
  CHECK(codes_of(saves_of(scratch, "runs")) == Codes{"folder-not-read"});
  const auto rows = rows_of(scratch, "runs");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].findings.at(0).code == "folder-not-read");
}

TEST_CASE("a distributed save that never finished is told among its run's saves") {
  const Scratch scratch;
  three_saves(scratch, "run");
  scratch.write("run/checkpoint-400/__0_0.distcp", "parts");
  CHECK(codes_of(saves_of(scratch, "run")) == Codes{"save-not-read"});
  const auto rows = rows_of(scratch, "run");
  REQUIRE(rows.size() == 4);
  CHECK(rows[3].findings.at(0).code == "incomplete-checkpoint");
}

TEST_CASE("what is still being written under another name is no broken save, and a broken one has its step") {
  const Scratch scratch;
  scratch.copy(torch_file, "run/step_100.pt");
  scratch.copy(torch_file, "run/step_200.pt");
  for (const char* name : {"run/step_300.pt", "run/step_400.pt.tmp", "run/step_400.pt.part"}) {
    scratch.write(name, "PK\x03\x04 cut short");
  }
  const auto rows = rows_of(scratch, "run");
  REQUIRE(rows.size() == 3);
  CHECK(rows[2].step == 300);
  CHECK(rows[2].findings.at(0).code == "file-not-read");
}

TEST_CASE("saves without a scaler are listed, and hide none that has one") {
  const Scratch scratch;
  scratch.copy("lightning/v2_6_fp32/last.ckpt", "none/step_100.pt");
  scratch.copy("lightning/v2_6_fp32/last.ckpt", "none/step_200.pt");
  CHECK(rows_of(scratch, "none").size() == 2);
  scratch.copy(torch_file, "some/step_100.pt");
  scratch.copy("lightning/v2_6_fp32/last.ckpt", "some/step_200.pt");
  CHECK(rows_of(scratch, "some").size() == 2);
}

TEST_CASE("fairseq's names tell the update and not the epoch") {
  CHECK(step_in_name("checkpoint_3_2500.pt") == 2500);
  CHECK(step_in_name("checkpoint-2500") == 2500);
  CHECK(step_in_name("checkpoint_7") == 7);
}

TEST_CASE("what a file counts is its step, and an epoch in its name is none") {
  const Scratch scratch;
  scratch.copy("fairseq/fp16/checkpoint_last.pt", "checkpoint1.pt");
  scratch.copy("timm/saver/checkpoint-1.pth.tar", "checkpoint-1.pth.tar");
  const auto step_of = [&](const char* name) {
    const std::string path = scratch.path(name);
    return counters_of(open_checkpoint(path, {}), path, local_files()).step;
  };
  CHECK(step_of("checkpoint1.pt") == 12);
  CHECK_FALSE(step_of("checkpoint-1.pth.tar").has_value());
}

TEST_CASE("folders that a script names by its steps are no numbers of saves because accelerate wrote them") {
  const Scratch scratch;
  for (const char* name : {"checkpoint-500", "step_500", "checkpoint_3"}) {
    for (const char* file : {"scaler.pt", "random_states_0.pkl"})
      scratch.copy(std::string("accelerate/save_state/state/") + file, std::string(name) + "/" + file);
  }
  const auto step_of = [&](const char* name) {
    const std::string path = scratch.path(name);
    return counters_of(open_checkpoint(path, {}), path, local_files()).step;
  };
  CHECK(step_of("checkpoint-500") == 500);
  CHECK(step_of("step_500") == 500);
  CHECK_FALSE(step_of("checkpoint_3").has_value());
}

TEST_CASE("more saves than a few thousand are all read, the newest among them") {
  const Scratch scratch;
  constexpr int count = 4200;
  scratch.copy(torch_file, "store/scaler.pt");
  std::filesystem::create_directories(scratch.path("run"));
  for (int i = 1; i <= count; ++i) {
    std::filesystem::create_hard_link(scratch.path("store/scaler.pt"),
                                      scratch.path("run/step_" + std::to_string(i) + ".pt"));
  }
  const Trace trace = saves_of(scratch, "run");
  REQUIRE(trace.checkpoints.size() == count);
  CHECK(trace.checkpoints.back().step == count);
}
