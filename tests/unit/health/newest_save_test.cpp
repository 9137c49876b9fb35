// A run whose newest save is nothing that can be resumed from: that the others are well makes it no healthy run.
#include <algorithm>
#include <filesystem>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/health/doctor.hpp"
#include "lib/health/timeline.hpp"
#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

std::vector<std::string> codes_told(const Scratch& scratch) {
  DoctorOptions options;
  options.trace.files = &local_files();
  options.open = [](const std::string& path) { return open_checkpoint(path, {}); };
  std::vector<std::string> codes;
  for (const HealthFinding& finding : diagnose({scratch.path("run")}, options).findings) {
    if (finding.severity != Severity::note) codes.push_back(finding.code);
  }
  return codes;
}

void two_saves(const Scratch& scratch) {
  for (const char* save : {"checkpoint-100", "checkpoint-200"}) {
    scratch.copy("torch/train-t2.15/checkpoint.pth", std::string("run/") + save + "/scaler.pt");
  }
}

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("an empty folder that the next resume takes is an error, and told once") {
  const Scratch scratch;
  two_saves(scratch);
  CHECK(codes_told(scratch).empty());
  std::filesystem::create_directories(scratch.path("run/checkpoint-300"));
  CHECK(codes_told(scratch) == Told{"incomplete-checkpoint"});
}

TEST_CASE("a newest save of torch's distributed format that never finished is told once") {
  const Scratch scratch;
  two_saves(scratch);
  scratch.write("run/checkpoint-300/__0_0.distcp", "PK");
  CHECK(codes_told(scratch) == Told{"incomplete-checkpoint"});
}

TEST_CASE("a pointer to a save that is not there is told once, whatever else of the run holds nothing") {
  const Scratch scratch;
  two_saves(scratch);
  scratch.write("run/latest", "checkpoint-400");
  std::filesystem::create_directories(scratch.path("run/checkpoint-300"));
  CHECK(codes_told(scratch) == Told{"pointer-astray"});
}

TEST_CASE("two experiments in one folder are refused, as one course of both would send a run back to the other") {
  const bool goes_on = GENERATE(false, true);  // one run, in a second folder since it was resumed
  const Scratch scratch;
  for (const int step : {100, 200, 300}) {
    for (const int run : {0, 1}) {
      scratch.copy("torch/train-t2.15/checkpoint.pth", "run/" + std::to_string(run) + "/checkpoint-" +
                                                           std::to_string(step + (goes_on ? 300 * run : run)) +
                                                           "/scaler.pt");
    }
  }
  if (goes_on) {
    CHECK(codes_told(scratch).empty());
  } else {
    CHECK_THROWS_WITH(codes_told(scratch), Catch::Contains("2 runs are in this folder"));
  }
}

TEST_CASE("a run that went back, and on in another folder, is one course though its saves overlap") {
  const Scratch scratch;
  for (const char* save :
       {"0/checkpoint-100", "0/checkpoint-200", "0/checkpoint-300", "1/checkpoint-250", "1/checkpoint-350"}) {
    scratch.copy("torch/train-t2.15/checkpoint.pth", std::string("run/") + save + "/scaler.pt");
  }
  CHECK(codes_told(scratch).empty());
}

TEST_CASE("two experiments whose saves tell no steps are refused: nothing tells their order") {
  const Scratch scratch;
  for (const char* save : {"a/checkpoints/checkpoint_0", "a/checkpoints/checkpoint_1", "b/checkpoints/checkpoint_0",
                           "b/checkpoints/checkpoint_1"}) {
    scratch.copy("torch/train-t2.15/checkpoint.pth", std::string("run/") + save + "/scaler.pt");
  }
  CHECK_THROWS_WITH(codes_told(scratch), Catch::Contains("2 runs are in this folder"));
}

TEST_CASE("a copied run whose pointer names its original is no healthy run: that one is resumed from") {
  const Scratch scratch;
  for (const char* folder : {"run", "original"}) {
    for (const char* save : {"epoch_1.pth", "epoch_2.pth"}) {
      scratch.copy("torch/train-t2.15/checkpoint.pth", std::string(folder) + "/" + save);
    }
    scratch.write(std::string(folder) + "/last_checkpoint", scratch.path("original/epoch_2.pth"));
  }
  CHECK(codes_told(scratch) == Told{"pointer-astray"});
  std::filesystem::remove_all(scratch.path("original"));
  CHECK(codes_told(scratch) == Told{"run-directory"});
  scratch.write("run/last_checkpoint", scratch.path("run/epoch_3.pth"));
  CHECK(codes_told(scratch) == Told{"pointer-astray"});
}

TEST_CASE("a pointer by which nothing can be resumed makes no healthy run, though all its saves are well") {
  const std::string text = GENERATE(as<std::string>(), "", std::string(4, '\0'), "a\nb", "ckpt/checkpoint-200");
  const Scratch scratch;
  two_saves(scratch);
  scratch.write("run/latest", text);
  CHECK(codes_told(scratch) == Told{"pointer-astray"});
}

TEST_CASE("a newest save without the scaler that all before it have is an error, and a run without any is none") {
  const Scratch scratch;
  two_saves(scratch);
  scratch.copy("lightning/v2_6_fp32/last.ckpt", "run/checkpoint-300/optimizer.pt");
  CHECK(codes_told(scratch) == Told{"incomplete-checkpoint"});
  scratch.copy("lightning/v2_6_fp32/last.ckpt", "run/checkpoint-250/optimizer.pt");
  CHECK(codes_told(scratch).empty());
}

TEST_CASE("a save that tells no later step than the others lost no scaler: some trainers strip their last one") {
  const Scratch scratch;
  for (const char* save : {"epoch10.pt", "epoch20.pt"})
    scratch.copy("torch/train-t2.15/checkpoint.pth", std::string("run/") + save);
  scratch.copy("lightning/v2_6_fp32/last.ckpt", "run/last.pt");
  CHECK(codes_told(scratch).empty());
}

TEST_CASE("a link out of the run that the next resume takes is told, and the run is not called healthy") {
  const Scratch scratch;
  two_saves(scratch);
  scratch.copy("torch/train-t2.15/checkpoint.pth", "store/checkpoint-300/scaler.pt");
  scratch.link("../store/checkpoint-300", "run/checkpoint-300");
  CHECK(codes_told(scratch) == Told{"link-not-read"});
}

TEST_CASE("a collapse between saves that tell no steps is one, with the overflows that it took at least") {
  Trace trace;
  trace.sources.push_back({"run/checkpoint_0", "checkpoint", ""});
  trace.segments.emplace_back();
  for (const double scale : {65536.0, 65536.0, 65536.0, 1.0, 1.0}) {
    TraceStep step;
    step.after = scale;
    trace.steps.push_back(step);
  }
  const auto findings = examine(trace, Thresholds{});
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().code == "collapse");
  CHECK_THAT(findings.front().message, Catch::Contains("at least 16 overflows"));
}

TEST_CASE("a timeline with saves that may not be read is no healthy course") {
  Trace trace;
  TraceCheckpoint saved;
  saved.path = "run/checkpoint-100";
  saved.step = 100;
  saved.fields = {{"scale", 1024.0}};
  trace.checkpoints.push_back(saved);
  TraceStep step{.step = 100, .after = 1024.0};
  trace.steps.push_back(step);
  trace.segments.emplace_back();
  trace.warnings.push_back({"file-not-read", "run/checkpoint-200/scaler.pt: Permission denied"});
  const Timeline timeline = timeline_of(trace, {"run"}, {});
  const auto has = [&](std::string_view code) {
    return std::ranges::find(timeline.findings, code, &HealthFinding::code) != timeline.findings.end();
  };
  CHECK(has("file-not-read"));
  CHECK_FALSE(has("healthy"));
}
