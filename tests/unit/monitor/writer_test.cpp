// The thread that writes: in order, all of it, and never in the way.
#include "lib/monitor/writer.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/catch.hpp"

using namespace tare::monitor;

namespace {

/// Notes the steps that it gets; does not go on while it is shut, and fails at one of them.
class Noting : public Sink {
 public:
  Noting(std::vector<std::int64_t>& steps, std::atomic<bool>& is_shut, std::int64_t full_at)
      : Sink("noting"), steps_(steps), is_shut_(is_shut), full_at_(full_at) {}
  [[nodiscard]] std::string_view kind() const override { return "noting"; }

 protected:
  void write(const ObservedStep& step) override {
    steps_.push_back(step.step);
    is_shut_.wait(true);
    if (step.step == full_at_) throw std::runtime_error("the disk is full");
  }

 private:
  std::vector<std::int64_t>& steps_;
  std::atomic<bool>& is_shut_;
  std::int64_t full_at_;
};

struct Written {
  Sinks sinks() {
    Sinks made;
    made.push_back(std::make_unique<Noting>(steps, is_shut, 13));
    made.push_back(std::make_unique<Noting>(others, never, -1));
    return made;
  }
  void open() {
    is_shut = false;
    is_shut.notify_all();
  }

  std::vector<std::int64_t> steps, others;
  std::atomic<bool> is_shut{false}, never{false};
};

std::shared_ptr<const ObservedStep> step(std::int64_t number) {
  const auto made = std::make_shared<ObservedStep>();
  made->step = number;
  return made;
}

}  // namespace

TEST_CASE("what is handed over is written in order, and the end waits for it") {
  Written written;
  std::vector<std::int64_t> expected;
  {
    Writer writer(written.sinks());
    for (std::int64_t i = 20; i < 60; ++i) {
      writer.put(step(i));
      expected.push_back(i);
    }
  }
  CHECK(written.steps == expected);
  CHECK(written.others == expected);
}

TEST_CASE("steps that come while too many are waiting are left out and counted") {
  Written written;
  written.is_shut = true;
  Writer writer(written.sinks());
  for (std::int64_t i = 100; i < 200; ++i) writer.put(step(i));
  CHECK(writer.left_out() == 100 - 64);
  CHECK(writer.failures() == 0);
  written.open();
  writer.wait();
  CHECK(written.steps.size() == 64);
  CHECK(written.steps.back() == 163);
  writer.put(step(200));
  writer.wait();
  CHECK(written.others.back() == 200);
  CHECK(writer.left_out() == 36);
}

TEST_CASE("a sink that fails gets nothing more, the others do") {
  Written written;
  Writer writer(written.sinks());
  for (std::int64_t i = 12; i < 16; ++i) writer.put(step(i));
  writer.wait();
  CHECK(writer.failures() == 1);
  CHECK(written.steps == std::vector<std::int64_t>{12, 13});
  CHECK(written.others == std::vector<std::int64_t>{12, 13, 14, 15});
  CHECK(writer.sinks().front()->failure() == "the disk is full");
}

TEST_CASE("a forked child lets go of the thread that it does not have") {
  Written written;
  Writer* writer = new Writer(written.sinks());
  writer->put(step(1));
  writer->wait();
  const pid_t child = fork();
  if (child == 0) {
    delete writer;
    _exit(0);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  CHECK((WIFEXITED(how) && WEXITSTATUS(how) == 0));
  writer->put(step(2));
  delete writer;
  CHECK(written.steps == std::vector<std::int64_t>{1, 2});
}
