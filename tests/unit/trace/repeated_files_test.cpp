// A log that lies in a run's folder twice is one run.
#include <fmt/format.h>

#include <atomic>

#include "lib/trace/files.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

/// apex's words: nothing numbers its overflows.
std::string overflows(int count, const std::string& banner = "a console\n") {
  std::string text = banner;
  for (int i = 0; i < count; ++i) {
    text +=
        fmt::format("step {} loss 2.5\nGradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}\n", i,
                    65536.0 / (2 << i));
  }
  return text;
}

std::string iterations(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    text += fmt::format(
        " iteration {:8d}/    1000 | consumed samples: 640 | lm loss: 3.0E+00 | loss scale: 64.0 | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |\n",
        i);
  }
  return text;
}

std::size_t overflows_in(const Trace& trace) {
  const auto steps = steps_of(trace);
  return static_cast<std::size_t>(
      std::ranges::count_if(steps, [](const TraceStep& step) { return step.overflow == true; }));
}

/// Of a run that ends in a state that its seed leads to each time, without a time in its lines.
std::string attempt(int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i) text += fmt::format("step {} loss 2.5 loss_scale: 65536\n", i);
  return text;
}

class CountedFiles final : public Files {
 public:
  explicit CountedFiles(std::map<std::string, std::string> texts) : files_(std::move(texts)) {}

  [[nodiscard]] FileType type(const std::string& path) const override { return files_.type(path); }
  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override { return files_.list(folder); }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
    ++opened_;
    return files_.open(path);
  }
  [[nodiscard]] std::size_t opened() const { return opened_; }

 private:
  MemoryFiles files_;
  mutable std::atomic<std::size_t> opened_ = 0;
};

std::size_t opens_of_listing(const std::map<std::string, std::string>& texts) {
  const CountedFiles files(texts);
  const std::string path = "run";
  const TraceOptions options{.tag = {}, .files = &files, .standard_input = {}};
  const auto found = files_of_run(std::span(&path, 1), options);
  CHECK(found.size() == 1);
  return files.opened();
}

}  // namespace

TEST_CASE("the attempts of a crash loop with one seed are told each, a copy beside them or not") {
  for (const int longer : {0, 5, 80}) {
    for (const auto* const path : {"attempt_{}.log", "version_{}/metrics.log", "train.log.{}"}) {
      std::map<std::string, std::string> texts;
      for (int i = 0; i < 6; ++i) texts[fmt::format(fmt::runtime(path), i)] = attempt(100 + longer * i);
      CHECK(trace_of(texts).segments.size() == 6);
      texts["wandb/run/output.log"] = attempt(100);
      CHECK(trace_of(texts).segments.size() == 6);
    }
  }
}

TEST_CASE("small logs that begin alike, however many, are opened once to be listed") {
  std::map<std::string, std::string> texts;
  for (int i = 0; i < 60; ++i) {
    const std::string name(static_cast<std::size_t>(1 + i % 30), static_cast<char>('a' + i / 30));
    texts["run/" + name + ".out"] = fmt::format("a banner\nstep {} loss_scale: 64\n", i);
  }
  CHECK(opens_of_listing(texts) == texts.size());
}

TEST_CASE("long logs with one first page, however many, are opened a bounded number of times") {
  std::map<std::string, std::string> texts;
  for (int i = 0; i < 60; ++i) {
    const std::string name(static_cast<std::size_t>(1 + i % 30), static_cast<char>('a' + i / 30));
    texts["run/" + name + ".out"] = std::string(8192, '-') + fmt::format("\nstep {} loss_scale: 64\n", i);
  }
  CHECK(opens_of_listing(texts) <= texts.size() + 512);
}

TEST_CASE("each checkpoint's trainer_state.json is opened once to be listed: the last one tells all") {
  std::map<std::string, std::string> texts;
  for (int i = 1; i <= 40; ++i) {
    texts[fmt::format("run/checkpoint-{}/trainer_state.json", i)] =
        fmt::format("{{\n  \"global_step\": {0},\n  \"log_history\": [\n    {{\"step\": {0}}}\n  ]\n}}\n", i);
  }
  CHECK(opens_of_listing(texts) == texts.size());
}

TEST_CASE("a console that was kept twice, whole or in part, counts no overflow twice and shows no restart") {
  for (const int there : {2, 5}) {
    for (const bool is_first_shorter : {false, true}) {
      const int first = is_first_shorter ? there : 5, second = is_first_shorter ? 5 : there;
      const auto unnumbered = trace_of({{"slurm-1.out", overflows(first)}, {"wandb/output.log", overflows(second)}});
      CHECK(overflows_in(unnumbered) == 5);
      const auto numbered = trace_of({{"slurm-1.out", iterations(first)}, {"wandb/output.log", iterations(second)}});
      CHECK(numbered.segments.size() == 1);
      CHECK(numbered.steps.size() == 5);
    }
  }
}

TEST_CASE("logs that begin alike and differ later are a run and its restart") {
  const auto trace = trace_of({{"a.log", iterations(5) + "killed\n"}, {"b.log", iterations(4) + "done\n"}});
  CHECK(trace.segments.size() == 2);
  CHECK(trace.steps.size() == 9);
}

TEST_CASE("series of MLflow with equal rows are two metrics, and no copy") {
  const std::string rows = "1700000000000 8 1\n1700000000001 8 2\n";
  const auto trace = trace_of({{"metrics/batch_size", rows}, {"metrics/loss_scale", rows}});
  CHECK(trace.steps.size() == 2);
}
