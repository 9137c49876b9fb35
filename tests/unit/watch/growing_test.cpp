// Files that grow are read as if they had been whole from the beginning.
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "lib/trace/together.hpp"
#include "lib/watch/followed_files.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void append(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / ("tare-watch-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string described(const TraceStep& step, const Trace& trace) {
  std::ostringstream text;
  const auto put = [&](std::string_view key, const auto& value) {
    if (value) text << ' ' << key << '=' << *value;
  };
  put("step", step.step);
  put("scale", step.scale);
  put("after", step.after);
  put("smoothed", step.smoothed);
  put("overflow", step.overflow);
  put("skipped", step.skipped);
  put("loss", step.loss);
  put("grad_norm", step.grad_norm);
  text << " line=" << step.line << " span=" << step.span << " segment=" << step.segment << ' '
       << trace.sources[step.source].kind << ' ' << trace.sources[step.source].tag;
  return text.str();
}

std::vector<std::string> described(const Trace& trace) {
  std::vector<std::string> steps;
  for (const TraceStep& step : trace.steps) steps.push_back(described(step, trace));
  return steps;
}

std::vector<std::string> told(const FollowedFiles& files) {
  return described(told_together(files.traces(), {}));
}

FollowedFiles following(const std::string& folder, const TraceOptions& options) {
  return {{folder}, options, {}, [] { return false; }};
}

constexpr std::string_view line_of_overflow(bool is_later) {
  return is_later ? "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 32768, reducing to 16384\n"
                  : "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n";
}

std::string banner() {
  return "a trainer that began at 12:00\n" + std::string(600, '-') + "\n";
}

}  // namespace

TEST_CASE("every file that is read in pieces tells what it tells as a whole") {
  const TraceOptions options;
  std::mt19937 random(27);
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(TARE_TEST_DATA) / "traces")) {
    if (!entry.is_regular_file() || entry.path().filename() == "truth.json") continue;
    if (entry.path().extension() == ".gz" || entry.path().extension() == ".zst") continue;
    const Scratch folder;
    const auto copy = folder / entry.path().filename().string();
    const std::string whole = contents(entry.path());
    FollowedFiles followed = following(folder.text(), options);
    append(copy, whole.substr(0, 0));
    std::size_t at = 0;
    while (at < whole.size()) {
      const std::size_t size = std::min<std::size_t>(whole.size() - at, 1 + random() % (1 + whole.size() / 6));
      append(copy, std::string_view(whole).substr(at, size));
      at += size;
      followed.look(true);
    }
    const std::vector<std::string> paths{copy.string()};
    auto expected = described(read_trace(paths, options));
    auto found = told(followed);
    // A line that nothing ends yet may go on.
    if (whole.back() != '\n' && expected.size() == found.size() + 1) expected.pop_back();
    const auto [one, other] = std::ranges::mismatch(found, expected);
    INFO(entry.path() << ": " << found.size() << " of " << expected.size() << " steps; "
                      << (one == found.end() ? "" : *one) << " |" << (other == expected.end() ? "" : *other));
    CHECK((one == found.end() && other == expected.end()));
    ++files;
  }
  CHECK(files > 40);
}

TEST_CASE("what a file's lines are not is warned of once a file, however many pieces it was read in") {
  const TraceOptions options;
  const Scratch folder;
  const std::string torn = R"({"step": 3, "loss_sc)";
  const std::string rows = R"({"step": 1, "loss_scale": 8.0})"
                           "\n" +
                           torn + "\n" +
                           R"({"step": 2, "loss_scale": 8.0})"
                           "\n";
  const std::string metric = "1700000000000 8 1\nno metric\n1700000000001 8 2\n";
  std::filesystem::create_directories(folder / "metrics");
  FollowedFiles followed = following(folder.text(), options);
  for (int piece = 0; piece < 3; ++piece) {
    append(folder / "a.jsonl", rows);
    append(folder / "b.jsonl", rows);
    append(folder / "metrics/loss_scale", metric);
    followed.look(true);
  }
  std::vector<std::string> found;
  for (const Trace& trace : followed.traces()) {
    for (const TraceWarning& warning : trace.warnings) {
      if (warning.code == "broken-lines") found.push_back(warning.text.substr(warning.text.rfind('/') + 1));
    }
  }
  std::ranges::sort(found);
  CHECK(found == std::vector<std::string>{"a.jsonl: 3 lines are no JSON, the first is line 2",
                                          "b.jsonl: 3 lines are no JSON, the first is line 2",
                                          "loss_scale: 3 lines are no metric, the first is line 2"});
}

TEST_CASE("what the first row of a file shows of its numbers holds for all pieces of it") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles followed = following(folder.text(), options);
  // mmengine's lines hold means; a line without the time of loading is one of them all the same.
  append(folder / "scalars.json", R"({"iter": 10, "data_time": 0.1, "loss_scale": 300.0})"
                                  "\n");
  followed.look(true);
  append(folder / "scalars.json", R"({"iter": 20, "loss_scale": 512.0})"
                                  "\n");
  followed.look(true);
  const std::vector<std::string> paths{folder.text()};
  CHECK(told(followed) == described(read_trace(paths, options)));
  CHECK(told(followed).back().find("smoothed=512") != std::string::npos);
}

TEST_CASE("a line, or a record, is taken once, however often is looked") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  append(folder / "train.log", banner() + std::string(line_of_overflow(false)));
  for (int i = 0; i < 3; ++i) files.look(true);
  CHECK(told(files).size() == 1);
  append(folder / "train.log", line_of_overflow(true).substr(0, 40));
  files.look(false);
  CHECK_FALSE(files.has_read());
  append(folder / "train.log", line_of_overflow(true).substr(40));
  files.look(false);
  CHECK(told(files).size() == 2);
}

TEST_CASE("a log in UTF-16 is refused with what to do, and not followed as if it told nothing") {
  const TraceOptions options;
  const Scratch folder;
  append(folder / "train.log", std::string("\xff\xfes\0c\0\n\0", 8));
  FollowedFiles files = following(folder / "train.log", options);
  CHECK_THROWS_WITH(files.look(true), Catch::Contains("is UTF-16, which is not followed while it grows"));
}

TEST_CASE("a log in UTF-16 that comes into a run's folder is told once, with what to do") {
  const TraceOptions options;
  const Scratch folder;
  append(folder / "train.log", std::string("\xff\xfes\0c\0\n\0", 8));
  FollowedFiles files = following(folder.text(), options);
  const auto changes = files.look(true);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].what == FollowedChange::What::unread);
  CHECK(changes[0].more.find("let it be written as UTF-8") != std::string::npos);
  append(folder / "train.log", std::string("s\0\n\0", 4));
  CHECK(files.look(true).empty());
}

TEST_CASE("a log whose inode was a file's that told nothing is followed") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  append(folder / "model.safetensors", std::string(5000, '\0'));
  CHECK(files.look(true).empty());
  std::filesystem::resize_file(folder / "model.safetensors", 0);  // the same inode, whatever the file system
  append(folder / "model.safetensors", banner() + std::string(line_of_overflow(false)) + std::string(5000, '-'));
  std::filesystem::rename(folder / "model.safetensors", folder / "train.log");
  CHECK(files.look(true).size() == 1);
  CHECK(told(files).size() == 1);
}

TEST_CASE("a bar that carriage returns alone end is read while it grows, as it is told at its end") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  const auto bar = [](int step) {
    return "\r " + std::to_string(step) + "%|##        | " + std::to_string(step) +
           "/100 [00:01<10:00, 1.0it/s, loss=2.5, loss_scale=" + std::to_string(65536 >> (step / 10)) + ".0]";
  };
  for (int step = 1; step < 60; ++step) {
    append(folder / "train.log", bar(step));
    files.look(true);
    if (step > 1) CHECK(told(files).size() == static_cast<std::size_t>(step - 1));  // the last one may go on
  }
  append(folder / "train.log", "\n");
  files.look(true);
  const std::vector<std::string> paths{folder.text()};
  CHECK(told(files) == described(read_trace(paths, options)));
}

TEST_CASE("a console that is kept twice while it grows is told once, whichever copy is ahead") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  std::string text = banner();
  std::mt19937 random(11);
  const auto names = std::to_array<std::string>({"slurm-1.out", "wandb.out"});
  std::array<std::size_t, 2> written{};
  std::size_t found = 0;
  for (int i = 0; i < 40; ++i) {
    text += "step " + std::to_string(i) + "\n" + std::string(line_of_overflow(i % 2 == 1));
    for (std::size_t k = 0; k < names.size(); ++k) {
      const std::size_t end = i == 39 ? text.size() : written[k] + random() % (text.size() - written[k] + 1);
      append(folder / names[k], std::string_view(text).substr(written[k], end - written[k]));
      written[k] = end;
      for (const auto& change : files.look(true)) found += change.what == FollowedChange::What::found ? 1 : 0;
    }
  }
  CHECK(told(files).size() == 40);
  CHECK(found == 1);
  append(folder / "wandb.out", line_of_overflow(false));
  files.look(false);
  append(folder / "slurm-1.out", "another end\n" + std::string(line_of_overflow(true)));
  files.look(false);
  CHECK(told(files).size() == 42);
}

TEST_CASE("what a copy of a console told before it was begun anew is not told again by the copy that was behind") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  const auto lines = [](int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) {
      text += "step " + std::to_string(i) + "\n" + std::string(line_of_overflow(i % 2 == 1));
    }
    return text;
  };
  append(folder / "slurm-1.out", banner() + lines(0, 3));
  append(folder / "wandb.out", banner() + lines(0, 3));
  files.look(true);
  append(folder / "slurm-1.out", lines(3, 6));
  files.look(true);
  CHECK(told(files).size() == 6);
  std::ofstream(folder / "slurm-1.out", std::ios::binary) << "a console of the next day\n";
  files.look(true);
  append(folder / "wandb.out", lines(3, 6));
  files.look(true);
  CHECK(told(files).size() == 6);
  append(folder / "wandb.out", lines(6, 7));
  files.look(true);
  CHECK(told(files).size() == 7);
}

TEST_CASE("a table that is written anew with a column more, as Lightning's, tells its steps once and no restart") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  std::string rows;
  std::size_t lines = 0;
  const auto write = [&](const std::string& header, const std::string& more) {
    for (int i = 0; i < 3; ++i, ++lines) rows += std::to_string(10 * lines) + ",64" + more + "\n";
    std::ofstream(folder / "metrics.csv", std::ios::binary) << header + rows;
    const auto changes = files.look(true);
    CHECK(std::ranges::count(changes, FollowedChange::What::truncated, &FollowedChange::what) == 0);
    CHECK(told(files).size() == lines);
  };
  write("step,loss_scale\n", "");
  write("step,loss_scale\n", "");
  write("step,loss_scale,val_loss\n", ",2.5");
  write("step,loss_scale,val_loss\n", ",");
  CHECK(std::ranges::none_of(told(files), [](const std::string& step) { return step.find("segment=1") != step.npos; }));
}

TEST_CASE("a log that is renamed is read to its end, and the one in its place from its front") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  append(folder / "train.log", banner());
  files.look(true);
  std::filesystem::rename(folder / "train.log", folder / "train.log.1");
  append(folder / "train.log.1", line_of_overflow(false));  // who has it open writes on
  append(folder / "train.log", banner() + "and goes on\n" + std::string(line_of_overflow(true)));
  const auto changes = files.look(true);
  CHECK(std::ranges::count(changes, FollowedChange::What::rotated, &FollowedChange::what) == 1);
  CHECK(told(files).size() == 2);
  append(folder / "train.log.1", line_of_overflow(true));
  files.look(false);
  CHECK(told(files).size() == 3);
}

TEST_CASE("a file is told to be of the run once, with what it is, and a copy of it or a file of other things is not") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  append(folder / "metrics.csv", "step,loss_scale\n1,64\n");
  append(folder / "train.log", banner() + std::string(line_of_overflow(false)));
  append(folder / "model.safetensors", std::string(5000, '\0'));
  auto changes = files.look(true);
  std::ranges::sort(changes, {}, &FollowedChange::path);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].what == FollowedChange::What::found);
  CHECK(changes[0].path == folder / "metrics.csv");
  CHECK(changes[0].more == "csv");
  CHECK(changes[1].path == folder / "train.log");
  CHECK(changes[1].more == "log");
  std::filesystem::copy(folder / "train.log", folder / "train.log.1");
  CHECK(files.look(true).empty());
}

TEST_CASE("a packed log is read once, as a whole, however often is looked") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  const std::string text = banner() + std::string(line_of_overflow(false));
  gzFile packed = gzopen((folder / "train.log.gz").c_str(), "wb");
  REQUIRE(packed != nullptr);
  gzwrite(packed, text.data(), static_cast<unsigned>(text.size()));
  REQUIRE(gzclose(packed) == Z_OK);
  CHECK(files.look(true).size() == 1);
  CHECK(files.has_read());
  for (int i = 0; i < 3; ++i) {
    CHECK(files.look(true).empty());
    CHECK_FALSE(files.has_read());
  }
  CHECK(told(files).size() == 1);
}

TEST_CASE("what the watcher itself writes is none of the run, by whichever path it was named") {
  const TraceOptions options;
  const Scratch folder;
  std::filesystem::create_directories(folder / "run");
  std::filesystem::create_directory_symlink(folder / "run", folder / "link");
  append(folder / "run/own.csv", "step,loss_scale\n1,64\n");
  append(folder / "run/metrics.csv", "step,loss_scale\n1,64\n");
  FollowedFiles files({(folder / "run").string()}, options, {(folder / "link/own.csv").string()}, [] { return false; });
  const auto changes = files.look(true);
  REQUIRE(changes.size() == 1);
  CHECK(changes.front().path == folder / "run/metrics.csv");
}

TEST_CASE("of more files than are kept open each is read on") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  constexpr int count = 270;
  const auto file = [&](int number) { return folder / (std::to_string(number) + ".csv"); };
  for (int i = 0; i < count; ++i) append(file(i), "step,loss_scale\n1,64\n");
  CHECK(files.look(true).size() == count);
  for (int i = 0; i < count; ++i) append(file(i), "2,32\n");
  CHECK(files.look(false).empty());
  const auto traces = files.traces();
  CHECK(traces.size() == count);
  CHECK(std::ranges::all_of(traces, [](const Trace& trace) { return trace.steps.size() == 2; }));
}

TEST_CASE("a log that is copied and emptied is told once") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  append(folder / "train.log", banner() + std::string(line_of_overflow(false)));
  files.look(true);
  const bool is_seen_first = GENERATE(true, false);
  append(folder / "train.log",
         "a line that nobody has seen before it was copied\n" + std::string(line_of_overflow(true)));
  std::filesystem::copy(folder / "train.log", folder / "train.log.1");
  if (is_seen_first) files.look(true);
  std::filesystem::resize_file(folder / "train.log", 0);
  append(folder / "train.log", "after it was emptied\n" + std::string(line_of_overflow(true)));
  const auto changes = files.look(true);
  CHECK(std::ranges::count(changes, FollowedChange::What::truncated, &FollowedChange::what) == 1);
  CHECK(told(files).size() == 3);
  files.look(true);
  CHECK(told(files).size() == 3);
}

TEST_CASE("what was emptied and has grown past where it was read is read from its front") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text(), options);
  append(folder / "train.log", "begun at 12:00\n" + std::string(line_of_overflow(false)));
  files.look(true);
  std::filesystem::resize_file(folder / "train.log", 0);
  append(folder / "train.log",
         "begun at 13:00\n" + std::string(line_of_overflow(true)) + std::string(4000, 'x') + "\n");
  files.look(false);
  CHECK(told(files).size() == 2);
}

TEST_CASE("a run's folder that is taken away and made anew is followed on") {
  const TraceOptions options;
  const Scratch folder;
  FollowedFiles files = following(folder.text() + "/run", options);
  CHECK_THROWS(files.look(true));
  std::filesystem::create_directories(folder / "run");
  append(folder / "run/train.log", line_of_overflow(false));
  files.look(true);
  std::filesystem::remove_all(folder / "run");
  CHECK_NOTHROW(files.look(true));
  std::filesystem::create_directories(folder / "run");
  append(folder / "run/train.log", "again\n" + std::string(line_of_overflow(true)));
  files.look(true);
  CHECK(told(files).size() == 2);
}
