// Where a monitor writes what it sees: whole, and without stopping anything where it cannot be written.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tare/tare.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/monitored.hpp"
#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"

using nlohmann::json;
using namespace tare::test;

TEST_CASE("a sink that cannot be written is told and stops nothing") {
  const Scratch folder;
  const std::string path = folder.path("missing/a.jsonl");
  Monitor monitor(config(1, path));
  CHECK(monitor.report().at("sinks").front().at("failure").is_null());
  monitor.step(1);
  monitor.step(2);
  const json report = monitor.report();
  CHECK(report.at("steps") == 2);
  CHECK(report.at("sinks").front().at("jsonl") == path);
  CHECK(report.at("sinks").front().at("failure") == path + ": No such file or directory");
}

TEST_CASE("a sink that fails is told once among the findings, and the others go on") {
  const Scratch folder;
  Monitor monitor(
      json{{"every", 1}, {"sinks", {{{"jsonl", "/dev/full"}}, {{"jsonl", folder.path("a.jsonl")}}}}}.dump());
  monitor.step(1);
  monitor.report();  // it is written, or not
  const auto codes = [&] {
    std::vector<std::string> told;
    const json report = monitor.report();
    for (const json& finding : report.at("findings")) told.push_back(finding.at("code"));
    return told;
  };
  CHECK(codes().empty());
  monitor.step(2);
  CHECK(codes() == std::vector<std::string>{"sink-failed"});
  const json finding = monitor.report().at("findings").front();
  CHECK(finding.at("file") == "/dev/full");
  CHECK(finding.at("message") == "nothing more is written: /dev/full: No space left on device");
  monitor.step(3);
  CHECK(codes().empty());
  CHECK(lines_of(monitor, folder.path("a.jsonl")).size() == 3);
}

TEST_CASE("of two sinks that fail one after the other each is told once, behind what is graver") {
  const Scratch folder;
  std::filesystem::create_directory(folder.path("later"));
  Monitor monitor(
      json{{"every", 1}, {"sinks", {{{"jsonl", "/dev/full"}}, {{"openmetrics", folder.path("later/a.prom")}}}}}.dump());
  std::vector<std::string> told;
  for (int step = 1; step < 8; ++step) {
    if (step == 4) std::filesystem::remove_all(folder.path("later"));
    monitor.step(step);
    const json report = monitor.report();
    for (const json& finding : report.at("findings")) told.push_back(finding.at("file"));
  }
  CHECK(told == std::vector<std::string>{"/dev/full", folder.path("later/a.prom")});
}

TEST_CASE("what stands in a file that becomes too long is cut back to whole lines") {
  const Scratch folder;
  const std::string path = folder.path("a.jsonl");
  Monitor monitor(config(1, path));
  monitor.step(1);
  REQUIRE(lines_of(monitor, path).size() == 1);
  const auto size = std::filesystem::file_size(path);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{static_cast<rlim_t>(size + size / 2), before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  monitor.step(2);
  const json report = monitor.report();
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  CHECK(report.at("sinks").front().at("failure") == path + ": File too large");
  CHECK(std::filesystem::file_size(path) == size);
}

TEST_CASE("a line that breaks off, as after a power cut, spoils none of those behind it") {
  const Scratch folder;
  const std::string path = folder.path("a.jsonl");
  std::ofstream(path) << R"({"schema":"tare.moni)";
  Monitor monitor(config(1, path));
  monitor.step(1);
  monitor.step(2);
  monitor.report();
  std::ifstream file(path);
  std::string line;
  std::vector<bool> whole;
  while (std::getline(file, line)) whole.push_back(json::accept(line));
  CHECK(whole == std::vector<bool>{false, true, true});
}

TEST_CASE("files that are taken away while a run goes on begin anew, whole") {
  const Scratch folder;
  const std::string lines = folder.path("a.jsonl");
  const std::string metrics = folder.path("a.prom");
  const std::string runs = folder.path("runs");
  Monitor monitor(
      json{{"every", 1}, {"sinks", {{{"jsonl", lines}}, {{"openmetrics", metrics}}, {{"tensorboard", runs}}}}}.dump());
  monitor.step(1);
  monitor.report();
  std::filesystem::rename(lines, folder.path("a.jsonl.1"));  // as logrotate does
  std::filesystem::remove(metrics);
  const auto board = std::filesystem::directory_iterator(runs)->path();
  std::filesystem::rename(board, folder.path("old"));
  monitor.step(2);
  monitor.step(3);
  const std::vector<json> told = lines_of(monitor, lines);
  REQUIRE(told.size() == 2);
  CHECK(told[0].at("step") == 2);
  CHECK(lines_of(monitor, folder.path("a.jsonl.1")).size() == 1);
  std::ifstream file(metrics);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK((text.find("tare_monitor_step") != std::string::npos && text.ends_with("# EOF\n")));
  std::ifstream again(board);
  const std::string events{std::istreambuf_iterator<char>(again), {}};
  CHECK(events.find("brain.Event:2") == 12 + 9 + 2);  // behind the frame's head, the time and the field's own head
  const json report = monitor.report();
  for (const json& sink : report.at("sinks")) CHECK(sink.at("failure").is_null());
}

TEST_CASE("where nothing may be written a sink says so, and writes again with a new monitor") {
  const Scratch folder;
  const std::string locked = folder.path("locked");
  std::filesystem::create_directory(locked);
  std::filesystem::permissions(locked, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const std::string config =
      json{
          {"every", 1},
          {"sinks",
           {{{"jsonl", locked + "/a.jsonl"}}, {{"openmetrics", locked + "/a.prom"}}, {{"tensorboard", locked + "/b"}}}}}
          .dump();
  const auto failures = [&] {
    Monitor monitor(config);
    monitor.step(1);
    std::set<std::string> told;
    const json report = monitor.report();
    for (const json& sink : report.at("sinks")) {
      told.insert(sink.at("failure").is_null() ? "" : sink.at("failure").get<std::string>());
    }
    return told;
  };
  if (geteuid() != 0) {  // root may write everywhere
    const std::set<std::string> told = failures();
    CHECK(told.size() == 3);
    for (const std::string& one : told) CHECK(one.find("Permission denied") != std::string::npos);
  }
  std::filesystem::permissions(locked, std::filesystem::perms::owner_all);
  CHECK(failures() == std::set<std::string>{""});
}

TEST_CASE("an event file tells the scale of each step under the framework's tag") {
  const Scratch folder;
  for (const char* tags : {"megatron", "deepspeed"}) {
    const std::string runs = folder.path(std::string("runs/") + tags);
    {
      Monitor monitor(json{{"every", 1}, {"sinks", {{{"tensorboard", runs}, {"tags", tags}}}}}.dump());
      Gradients list(R"({"policy":"torch","initial_scale":8})");
      const char* names[] = {"first", "second"};
      for (const int step : {10, 20, 15}) {
        REQUIRE(tare_grads_observe_and_update(list.handle, nullptr, nullptr) == TARE_OK);
        REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
        REQUIRE(monitor.observe("w", {list.first, 4, TARE_F32, 0}) == TARE_OK);
        monitor.step(step);
      }
    }
    tare_text* text = nullptr;
    const char* paths[] = {runs.c_str()};
    REQUIRE(tare_trace_read(&text, paths, 1, nullptr, nullptr) == TARE_OK);
    const json trace = json::parse(tare_text_data(text));
    tare_text_destroy(text);
    CHECK(trace.at("warnings").empty());
    CHECK(trace.at("segments").size() == 2);  // the run went back
    std::vector<std::pair<int, double>> scales;
    for (const json& step : trace.at("steps")) scales.emplace_back(step.at("step"), step.at("after"));
    CHECK(scales == std::vector<std::pair<int, double>>{{10, 4}, {20, 2}, {15, 1}});
  }
}

TEST_CASE("the last step's numbers lie in a file for Prometheus, whole") {
  const Scratch folder;
  const std::string path = folder.path("a.prom");
  Monitor monitor(json{{"every", 1}, {"warn", {{"looks", 1}}}, {"sinks", {{{"openmetrics", path}}}}}.dump());
  Gradients list(R"({"policy":"torch","initial_scale":4})");
  list.second[0] = 1;
  const char* names[] = {"first", "a \"b\"\n"};
  REQUIRE(tare_grads_observe(list.handle, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_monitor_add_grads(monitor.handle, list.handle, names, 2, nullptr, nullptr) == TARE_OK);
  monitor.step(17);
  monitor.report();
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string run = "{run=\"" + path + "\"";
  CHECK(text.find("\ntare_monitor_step" + run + "} 17\n") != std::string::npos);
  CHECK(text.find("\ntare_monitor_scale" + run + "} 4\n") != std::string::npos);
  CHECK(text.find("\ntare_monitor_gradients_lost" + run + "} 0.16666666666666666\n") != std::string::npos);
  CHECK(text.find("\ntare_monitor_layer_lost" + run + ",layer=\"a \\\"b\\\"\\n\"} 0\n") != std::string::npos);
  CHECK(text.find("\ntare_finding" + run + ",code=\"low-scale\",severity=\"warning\"} 1\n") != std::string::npos);
  CHECK(text.ends_with("# EOF\n"));
  CHECK(folder.names() == std::set<std::string>{"a.prom"});
}

TEST_CASE("a forked child may destroy a monitor that writes") {
  const Scratch folder;
  const std::string path = folder.path("a.jsonl");
  Monitor monitor(config(1, path));
  monitor.step(1);
  monitor.report();
  const pid_t child = fork();
  if (child == 0) {
    tare_monitor_destroy(monitor.handle);
    _exit(0);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  CHECK((WIFEXITED(how) && WEXITSTATUS(how) == 0));
  monitor.step(2);
  CHECK(lines_of(monitor, path).size() == 2);
}
