// What a log tells while it grows, as events, and how the run stands then.
#include "lib/watch/watch.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

std::string printed(int step, const std::string& scale, int skipped = 0) {
  return fmt::format(
      " iteration {:8d}/    1000 | consumed samples: 640 | lm loss: 3.0E+00 | loss scale: {} | number of skipped "
      "iterations: {:3d} | number of nan iterations:   0 |\n",
      step, scale, skipped);
}

/// A run's folder with a log that is written to, and who watches it.
class WatchedLog {
 public:
  WatchedLog()
      : watch_({folder_.path()}, {.open = [](const std::string& path) { return open_checkpoint(path, {}); }}) {}

  void write(const std::string& text) { std::ofstream(folder_.path("train.log"), std::ios::app) << text; }
  void write_anew(const std::string& name, const std::string& text) { std::ofstream(folder_.path(name)) << text; }
  std::vector<WatchEvent> look(WatchEvent::What what) {
    std::vector<WatchEvent> events = watch_.look(true);
    std::erase_if(events, [&](const WatchEvent& event) { return event.what != what; });
    return events;
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
