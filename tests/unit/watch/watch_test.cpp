// What a log tells while it grows, as events, and how the run stands then.
#include "lib/watch/watch.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

std::string printed(int step, const std::string& scale, int skipped = 0, double loss = 3) {
  return fmt::format(
      " iteration {:8d}/    1000 | consumed samples: 640 | lm loss: {:.1E} | loss scale: {} | number of skipped "
      "iterations: {:3d} | number of nan iterations:   0 |\n",
      step, loss, scale, skipped);
}

/// A run's folder with a log that is written to, and who watches it.
class WatchedLog {
 public:
  WatchedLog()
      : watch_({folder_.path()}, {.open = [](const std::string& path) { return open_checkpoint(path, {}); },
                                  .settle = std::chrono::seconds(0)}) {}

  void write(const std::string& text) { std::ofstream(folder_.path("train.log"), std::ios::app) << text; }
  void write_anew(const std::string& name, const std::string& text) { std::ofstream(folder_.path(name)) << text; }
  void save(const std::string& name) { folder_.copy("torch/train-t2.15/checkpoint.pth", name + "/scaler.pt"); }
  void take_away(const std::string& name) { std::filesystem::remove_all(folder_.path(name)); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  std::vector<WatchEvent> look(WatchEvent::What what) {
    std::vector<WatchEvent> events = watch_.look(true);
    std::erase_if(events, [&](const WatchEvent& event) { return event.what != what; });
    return events;
  }
  /// The codes of findings that came, or are over, since the last look.
  std::vector<std::string> codes(WatchEvent::What what) {
    std::vector<std::string> found;
    for (const WatchEvent& event : look(what)) found.push_back(event.finding ? event.finding->code : "none");
    return found;
  }
  [[nodiscard]] const RunStatus& status() const { return watch_.status(); }

 private:
  Scratch folder_;
  Watch watch_;
};

}  // namespace

TEST_CASE("moves of the scale in a log that comes after the first look are told") {
  WatchedLog log;
  CHECK(log.look(WatchEvent::What::scale).empty());
  log.write(printed(1, "64.0") + printed(2, "32.0", 1) + printed(3, "32.0") + printed(4, "16.0", 1));
  CHECK(log.look(WatchEvent::What::scale).size() == 2);
  CHECK(log.look(WatchEvent::What::scale).empty());
}

TEST_CASE("a scale that became nan is told once, and is the scale that the run stands at") {
  WatchedLog log;
  log.write(printed(1, "64.0"));
  log.look(WatchEvent::What::scale);
  for (int step = 2; step < 5; ++step) {
    log.write(printed(step, "nan"));
    CHECK(log.look(WatchEvent::What::scale).size() == (step == 2 ? 1 : 0));
    REQUIRE(log.status().scale.has_value());
    CHECK(std::isnan(*log.status().scale));
  }
}

TEST_CASE("a run whose scale is printed as 0.0 stands at that, and not at the last greater one") {
  WatchedLog log;
  log.write(printed(1, "2.0") + printed(2, "1.0", 1));
  log.look(WatchEvent::What::scale);
  log.write(printed(3, "0.0", 1));
  const auto moves = log.look(WatchEvent::What::scale);
  REQUIRE(moves.size() == 1);
  CHECK(moves.front().to == 0.0);
  CHECK(log.status().scale == 0.0);
}

TEST_CASE("a table that is written anew with a column more, and seen half-written, tells no move of the scale twice") {
  const auto table = [](const std::string& header, const std::string& more, int rows) {
    std::string text = header + "\n";
    for (int i = 0; i < rows; ++i) text += fmt::format("{},{},2.5{}\n", i, 65536 >> (i / 10), more);
    return text;
  };
  WatchedLog log;
  log.write_anew("metrics.csv", table("step,loss_scale,loss", "", 90));
  log.look(WatchEvent::What::scale);
  for (const int rows : {45, 45, 90}) {
    log.write_anew("metrics.csv", table("step,loss_scale,loss,val_loss", ",", rows));
    CHECK(log.look(WatchEvent::What::scale).empty());
  }
  log.write_anew("metrics.csv", table("step,loss_scale,loss,val_loss", ",", 95));
  CHECK(log.look(WatchEvent::What::scale).size() == 1);
  CHECK(log.status().overflows == 9);
}

TEST_CASE("a move of the scale is told with its step, from what to what, and how many overflows it took") {
  WatchedLog log;
  log.write(printed(1, "64.0") + printed(2, "64.0"));
  log.look(WatchEvent::What::scale);
  log.write(printed(3, "32.0", 1) + printed(4, "32.0") + printed(5, "64.0") + printed(6, "64.0", 1));
  const auto moves = log.look(WatchEvent::What::scale);
  REQUIRE(moves.size() == 3);
  CHECK(moves[0].step == 3);
  CHECK(moves[0].from == 64.0);
  CHECK(moves[0].to == 32.0);
  CHECK(moves[0].overflows == 1);
  CHECK(moves[1].step == 5);
  CHECK(moves[1].to == 64.0);
  CHECK(moves[1].overflows == 0);
  CHECK(moves[2].step == 6);  // a hysteresis took it
  CHECK(moves[2].to == 64.0);
  CHECK(moves[2].overflows == 1);
  CHECK(log.status().step == 6);
  CHECK(log.status().steps == 6);
  CHECK(log.status().overflows == 2);
  CHECK(log.status().scale == 64.0);
  CHECK(log.status().restarts == 0);
}

TEST_CASE("ten moves of the scale between two looks are told one by one, and more as one from the first to the last") {
  const auto moves_of = [](int count) {
    WatchedLog log;
    log.write(printed(1, "65536.0"));
    log.look(WatchEvent::What::scale);
    for (int i = 1; i <= count; ++i) log.write(printed(1 + i, fmt::format("{:.1f}", std::exp2(16 - i)), 1));
    return log.look(WatchEvent::What::scale);
  };
  CHECK(moves_of(10).size() == 10);
  const auto whole = moves_of(11);
  REQUIRE(whole.size() == 1);
  CHECK(whole.front().moves == 11);
  CHECK(whole.front().overflows == 11);
  CHECK(whole.front().step == 12);
  CHECK(whole.front().from == 65536.0);
  CHECK(whole.front().to == 32.0);
}

TEST_CASE("a run that goes back to an earlier step is told to have been started again, once") {
  WatchedLog log;
  for (int step = 1; step <= 40; ++step) log.write(printed(step, "64.0"));
  CHECK(log.look(WatchEvent::What::restart).empty());
  for (int step = 21; step <= 30; ++step) log.write(printed(step, "64.0"));
  const auto restarts = log.look(WatchEvent::What::restart);
  REQUIRE(restarts.size() == 1);
  CHECK(restarts.front().step == 21);
  CHECK(log.look(WatchEvent::What::restart).empty());
  CHECK(log.status().restarts == 1);
  CHECK(log.status().steps == 50);
}

TEST_CASE("a checkpoint that is written while somebody watches is told once, with its step and scale") {
  WatchedLog log;
  log.save("checkpoint-100");
  CHECK(log.look(WatchEvent::What::checkpoint).empty());  // it was there before
  log.save("checkpoint-200");
  const auto saved = log.look(WatchEvent::What::checkpoint);
  REQUIRE(saved.size() == 1);
  CHECK(saved.front().path == log.path("checkpoint-200"));
  CHECK(saved.front().step == 200);
  REQUIRE(saved.front().saved.has_value());
  CHECK(saved.front().saved->scale() == log.status().newest->scale());
  CHECK(log.look(WatchEvent::What::checkpoint).empty());
  CHECK(log.status().checkpoints == 2);
  REQUIRE(log.status().newest.has_value());
  CHECK(log.status().newest->step == 200);
}

TEST_CASE("what is wrong is told as it comes, and again when it is over") {
  WatchedLog log;
  for (int step = 1; step <= 20; ++step) log.write(printed(step, "64.0"));
  CHECK(log.codes(WatchEvent::What::finding).empty());
  for (int step = 21; step <= 25; ++step) log.write(printed(step, "64.0", 0, 9));
  CHECK(log.codes(WatchEvent::What::finding) == std::vector<std::string>{"loss-spike"});
  CHECK(log.codes(WatchEvent::What::finding).empty());
  CHECK(log.status().diagnosis.findings.size() == 1);
  for (int step = 26; step <= 30; ++step) log.write(printed(step, "64.0"));
  CHECK(log.codes(WatchEvent::What::over) == std::vector<std::string>{"loss-spike"});
}

TEST_CASE("a log is told when it is found, and what it told stays counted when it is taken away") {
  WatchedLog log;
  log.write(printed(1, "64.0") + printed(2, "32.0", 1));
  const auto found = log.look(WatchEvent::What::found);
  REQUIRE(found.size() == 1);
  CHECK(found.front().path == log.path("train.log"));
  log.take_away("train.log");
  CHECK(log.look(WatchEvent::What::scale).empty());
  CHECK(log.status().steps == 2);
  CHECK(log.status().overflows == 1);
}
