// What is said of runs that tell losses and gradient norms alone.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

#include "lib/health/doctor.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

struct Told {
  Trace trace;

  Told() { trace.sources.push_back({"log.txt", "huggingface-log", ""}); }

  Told& steps(int count, float loss, float norm) {
    for (int i = 0; i < count; ++i) {
      trace.without_scale.push_back({.loss = loss, .grad_norm = norm, .line = trace.without_scale.size() + 1});
    }
    return *this;
  }
  [[nodiscard]] std::vector<HealthFinding> findings(std::string_view code) const {
    std::vector<HealthFinding> all = examine(trace, {});
    std::erase_if(all, [&](const HealthFinding& finding) { return finding.code != code; });
    return all;
  }
};

}  // namespace

TEST_CASE("gradient norms that are no number three times in a row are told, from the first of them on") {
  const auto told =
      Told().steps(5, 2.5F, 1.5F).steps(3, 2.5F, no_number).steps(9, 2.5F, 1.5F).findings("nan-gradients");
  REQUIRE(told.size() == 1);
  CHECK(told[0].line == 6);
  CHECK(told[0].file == "log.txt");
  CHECK(told[0].message.find("3 reports") != std::string::npos);
  CHECK(Told().steps(5, 2.5F, 1.5F).steps(2, 2.5F, no_number).steps(5, 2.5F, 1.5F).findings("nan-gradients").empty());
}

TEST_CASE("a run that looks for its scale from its first step on is well, and one that does not find it is not") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  CHECK(Told().steps(16, 2.5F, inf).steps(5, 2.5F, 1.5F).findings("nan-gradients").empty());
  CHECK(Told().steps(24, 2.5F, inf).findings("nan-gradients").size() == 1);
}

TEST_CASE("losses that are no number at the start, with numbers behind them, are a run that looks for its scale") {
  CHECK(Told().steps(5, no_number, 1.5F).steps(5, 2.5F, 1.5F).findings("nan-loss").empty());
  CHECK(Told().steps(5, 2.5F, 1.5F).steps(5, no_number, 1.5F).steps(5, 2.5F, 1.5F).findings("nan-loss").size() == 1);
  CHECK(Told().steps(5, no_number, 1.5F).findings("nan-loss").size() == 1);
  CHECK(Told().steps(24, no_number, 1.5F).steps(5, 2.5F, 1.5F).findings("nan-loss").size() == 1);
}

TEST_CASE("a mean over Keras' epoch that is no number is one skipped step where the next epoch has numbers") {
  Told told;
  told.trace.sources.front().kind = "keras-bar";
  told.steps(5, 2.5F, 1.5F).steps(90, no_number, 1.5F).steps(5, 2.5F, 1.5F);
  CHECK(told.findings("nan-loss").empty());
  CHECK(told.steps(5, no_number, 1.5F).findings("nan-loss").size() == 1);
}

TEST_CASE(
    "a mean that is no number may hold one skipped step: three of them in a row are no trouble, losses of nan are") {
  Told told;
  told.trace.sources.front().kind = "mmengine-log";
  told.steps(5, 2.5F, 1.5F).steps(23, 2.5F, no_number).steps(5, 2.5F, 1.5F);
  CHECK(told.findings("nan-gradients").empty());
  told.steps(24, 2.5F, no_number);
  CHECK(told.findings("nan-gradients").size() == 1);
  told.steps(3, no_number, no_number);
  CHECK(told.findings("nan-loss").size() == 1);
}

TEST_CASE("a loss of 0 beside a gradient norm of nan is a loss of no_number, from the first step on, too") {
  const auto told = Told().steps(3, 0.0F, no_number).findings("nan-gradients");
  REQUIRE(told.size() == 1);
  CHECK(told[0].message.find("the loss is 0") != std::string::npos);
  const auto other =
      Told().steps(5, 2.5F, 1.5F).steps(2, 0.0F, no_number).steps(1, 2.5F, no_number).findings("nan-gradients");
  REQUIRE(other.size() == 1);
  CHECK(other[0].message.find("the loss is 0") == std::string::npos);
}

TEST_CASE(
    "a Trainer's loss that is exactly 0 at once, and stays so, may be NaN; one that comes there step by step is not") {
  const auto zero_losses = [](std::initializer_list<float> losses, std::optional<float> norm = {}) {
    Told told;
    for (const float loss : losses) {
      told.trace.without_scale.push_back(
          {.loss = loss, .grad_norm = norm, .line = told.trace.without_scale.size() + 1});
    }
    return told.findings("zero-loss");
  };
  const auto told = zero_losses({2.3F, 1.9F, 0, 0, 0, 0});
  REQUIRE(told.size() == 1);
  CHECK(told[0].severity == Severity::warning);
  CHECK(told[0].line == 3);
  CHECK(told[0].message.find("exactly 0 in 4 reports in a row, and was 1.9 before") != std::string::npos);
  CHECK(zero_losses({2.3F, 0, 0, 0, 2.1F}).size() == 1);
  CHECK(zero_losses({2.3F, 1.9F, 0, 0}).empty());
  CHECK(zero_losses({2.3F, 0.09F, 0, 0, 0}).empty());
  CHECK(zero_losses({0, 0, 0, 0, 0}).empty());
  CHECK(zero_losses({2.3F, 1.9F, 0, 0, 0}, 1.5F).empty());
  Told other;
  other.trace.sources.front().kind = "log";
  for (const float loss : {2.3F, 0.0F, 0.0F, 0.0F}) other.trace.without_scale.push_back({.loss = loss});
  CHECK(other.findings("zero-loss").empty());
}

TEST_CASE("losses that are NaN are told, and losses that rise are not: nothing says that they are to fall") {
  CHECK(Told().steps(5, 2.5F, 1.5F).steps(3, no_number, 1.5F).findings("nan-loss").size() == 1);
  CHECK(Told().steps(50, 0.001F, 1.5F).steps(50, 9.0F, 1.5F).findings("diverged").empty());
}

TEST_CASE("no trouble is not said of losses that are no number, be they too few for one") {
  const auto told = Told().steps(5, 2.5F, 1.5F).steps(2, no_number, 1.5F).findings("no-scale-trace");
  REQUIRE(told.size() == 1);
  CHECK(
      told[0].message.ends_with("; of 7 reports of losses and gradient norms 2 are NaN or infinite, too few in a row "
                                "to tell from an overflow's own"));
  const auto norm = Told().steps(5, 2.5F, 1.5F).steps(1, 2.5F, no_number).findings("no-scale-trace");
  REQUIRE(norm.size() == 1);
  CHECK(
      norm[0].message.ends_with("; of 6 reports of losses and gradient norms 1 is NaN or infinite, too few in a row "
                                "to tell from an overflow's own"));
}

TEST_CASE("a loss that the trainer itself says to be none is lost, however few reports there are") {
  Told told;
  told.steps(2, 2.5F, 1.5F);
  told.trace.warnings.push_back({"loss-not-finite", "log.txt:3: Loss is nan, stopping training"});
  const auto lost = told.findings("nan-loss");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].message == "the trainer says that its loss is no number: log.txt:3: Loss is nan, stopping training");
  CHECK(told.findings("no-scale-trace").front().message == "nothing of what was read tells a scale or an overflow");
  CHECK(told.steps(5, no_number, 1.5F).findings("nan-loss").size() == 1);
}

TEST_CASE("that nothing tells a scale is said all the same") {
  const auto well = Told().steps(5, 2.5F, 1.5F).findings("no-scale-trace");
  REQUIRE(well.size() == 1);
  CHECK(well[0].message.ends_with("; 5 reports of losses and gradient norms show no trouble"));
  const auto lost = Told().steps(3, 0.0F, no_number).findings("no-scale-trace");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].message == "nothing of what was read tells a scale or an overflow");
}
