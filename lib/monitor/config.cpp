#include "lib/monitor/config.hpp"

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json_text.hpp"

namespace tare::monitor {
namespace {

constexpr const char* where = "the monitor's configuration";

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw Error(Status::invalid_argument, std::string(where) + ": " + what, hint);
}

std::int64_t steps_of(const json::Json& value) {
  const auto* steps = value.as<std::int64_t>();
  if (steps == nullptr || *steps < 1) refuse("\"every\" is no number of steps", "A whole number from 1 on.");
  return *steps;
}

std::string line_file_of(const json::Json& sink) {
  constexpr const char* form = R"(A sink is {"jsonl":"PATH"}.)";
  const auto* members = sink.as<json::Object>();
  if (members == nullptr || members->size() != 1) refuse("a sink is no object of one member", form);
  const auto& [kind, target] = members->front();
  if (kind != "jsonl") refuse("there are no sinks \"" + escaped(kind) + "\"", form);
  const auto* path = target.as<std::string>();
  if (path == nullptr || path->empty() || path->find('\0') != std::string::npos) refuse("\"jsonl\" is no path", form);
  return *path;
}

std::vector<std::string> line_files_of(const json::Json& value) {
  const auto* sinks = value.as<json::Array>();
  if (sinks == nullptr) refuse("\"sinks\" is no list", R"(For example [{"jsonl":"a.jsonl"}].)");
  std::vector<std::string> files;
  for (const json::Json& sink : *sinks) files.push_back(line_file_of(sink));
  return files;
}

}  // namespace

Config parse_config(const char* json) {
  Config config;
  if (json == nullptr || *json == '\0') return config;
  const json::Json parsed = json::parse(json, where, Status::invalid_argument);
  const auto* members = parsed.as<json::Object>();
  if (members == nullptr) refuse("it is no JSON object", "Keys: every, sinks");
  for (const auto& member : *members) {
    if (member.first == "every") {
      config.every = steps_of(member.second);
    } else if (member.first == "sinks") {
      config.line_files = line_files_of(member.second);
    } else {
      refuse("there is no \"" + escaped(member.first) + "\"", "Keys: every, sinks");
    }
  }
  return config;
}

}  // namespace tare::monitor
