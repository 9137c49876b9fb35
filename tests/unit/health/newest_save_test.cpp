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

TEST_CASE("a link out of the run that the next resume takes is told, and the run is not called healthy") {
  const Scratch scratch;
  two_saves(scratch);
  scratch.copy("torch/train-t2.15/checkpoint.pth", "store/checkpoint-300/scaler.pt");
  scratch.link("../store/checkpoint-300", "run/checkpoint-300");
  CHECK(codes_told(scratch) == Told{"link-not-read"});
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
