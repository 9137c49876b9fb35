// Lines as trainers' users quote them, in excerpts: what a bar, a prefix or another release puts around them. A file in
// excerpts/ holds several: `=== what it is`, the lines, with \e, \r and \t for what no editor shows, and a line `--> `
// for each step that they tell.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/trace/in_pieces.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

struct Excerpt {
  std::string what, text;
  std::vector<std::string> steps;
};

std::string without_escapes(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_escape = line[i] == '\\' && i + 1 < line.size();
    const char c = line[is_escape ? ++i : i];
    text += !is_escape ? c : c == 'e' ? '\x1b' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
  }
  return text;
}

std::vector<Excerpt> excerpts_of(const std::filesystem::path& path) {
  constexpr std::string_view title = "=== ", step = "--> ";
  std::vector<Excerpt> excerpts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(title)) {
      excerpts.push_back({line.substr(title.size()), {}, {}});
    } else if (line.starts_with(step)) {
      excerpts.back().steps.push_back(line.substr(step.size()));
    } else if (excerpts.back().steps.empty()) {
      excerpts.back().text += without_escapes(line) + '\n';
    }
  }
  return excerpts;
}

std::vector<Excerpt> all_excerpts() {
  std::vector<Excerpt> all;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(TARE_TEST_SOURCE) / "unit/trace/excerpts")) {
    for (Excerpt& excerpt : excerpts_of(file.path())) {
      excerpt.what = file.path().filename().string() + ": " + excerpt.what;
      all.push_back(std::move(excerpt));
    }
  }
  return all;
}

std::string described(const TraceStep& step) {
  std::ostringstream text;
  const auto put = [&](const char* key, const auto& value) {
    if (value) text << (text.tellp() == 0 ? "" : " ") << key << '=' << *value;
  };
  text << std::boolalpha;
  text.precision(16);
  put("step", step.step);
  put("scale", step.scale);
  put("after", step.after);
  put("smoothed", step.smoothed);
  put("overflow", step.overflow);
  put("skipped", step.skipped);
  if (step.fatal) put("fatal", std::optional(step.fatal));
  return text.str();
}

}  // namespace

TEST_CASE("excerpts of logs tell their steps, whatever stands around the lines") {
  const std::vector<Excerpt> excerpts = all_excerpts();
  CHECK(excerpts.size() >= 80);
  for (const Excerpt& excerpt : excerpts) {
    std::vector<std::string> told;
    for (const TraceStep& step : steps_of(trace_of_log(excerpt.text))) told.push_back(described(step));
    INFO(excerpt.what);
    CHECK(told == excerpt.steps);
  }
}

TEST_CASE("an excerpt that is written line by line tells what it tells whole, wherever it was looked at before") {
  for (const Excerpt& excerpt : all_excerpts()) {
    const MemoryFiles files({{"log", excerpt.text}});
    const TraceOptions options{.tag = {}, .files = &files, .standard_input = {}};
    const RunFile file = run_file(Input("log", options), options);
    const std::string whole = told_in_pieces(file, excerpt.text, {});
    for (std::size_t line = 0; line != std::string::npos; line = excerpt.text.find('\n', line + 1)) {
      INFO(excerpt.what << ", looked at after " << line << " bytes");
      CHECK(told_in_pieces(file, excerpt.text, {line + 1}) == whole);
    }
  }
}
