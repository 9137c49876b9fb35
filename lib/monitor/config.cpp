#include "lib/monitor/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

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

struct SinkName {
  std::string_view name;
  SinkKind kind;
};

constexpr auto sink_names = std::to_array<SinkName>(
    {{"jsonl", SinkKind::jsonl}, {"tensorboard", SinkKind::tensorboard}, {"openmetrics", SinkKind::openmetrics}});

const EventTags* tags_of(const json::Json& value) {
  const auto* name = value.as<std::string>();
  const EventTags* tags = name == nullptr ? nullptr : find_event_tags(*name);
  if (tags == nullptr) refuse("there are no such \"tags\"", fmt::format("They are those of {}.", event_tag_names()));
  return tags;
}

std::string path_of(std::string_view kind, const json::Json& target) {
  const auto* path = target.as<std::string>();
  if (path != nullptr && !path->empty() && path->find('\0') == std::string::npos) return *path;
  refuse(fmt::format("\"{}\" is no path", kind), "The path of a file; of \"tensorboard\", of a folder.");
}

SinkConfig sink_of(const json::Json& sink) {
  constexpr const char* form =
      R"(A sink is {"jsonl":"FILE"}, {"tensorboard":"FOLDER"} (with "tags" besides) or {"openmetrics":"FILE"}.)";
  const auto* members = sink.as<json::Object>();
  if (members == nullptr) refuse("a sink is no object", form);
  SinkConfig wanted;
  for (const auto& [key, value] : *members) {
    const auto kind = std::ranges::find(sink_names, key, &SinkName::name);
    if (kind != sink_names.end() && wanted.path.empty()) {
      wanted.kind = kind->kind;
      wanted.path = path_of(key, value);
    } else if (key == "tags") {
      wanted.tags = tags_of(value);
    } else {
      refuse(fmt::format("there is no sink with \"{}\"", escaped(key)), form);
    }
  }
  const bool takes_tags = wanted.kind == SinkKind::tensorboard;
  if (wanted.path.empty() || (wanted.tags != nullptr && !takes_tags)) refuse("a sink is none of those there are", form);
  if (wanted.tags == nullptr) wanted.tags = find_event_tags("megatron");
  return wanted;
}

std::vector<SinkConfig> sinks_of(const json::Json& value) {
  const auto* sinks = value.as<json::Array>();
  if (sinks == nullptr) refuse("\"sinks\" is no list", R"(For example [{"jsonl":"a.jsonl"}].)");
  std::vector<SinkConfig> wanted;
  for (const json::Json& sink : *sinks) wanted.push_back(sink_of(sink));
  return wanted;
}

Format format_of(const json::Json& value) {
  const auto* name = value.as<std::string>();
  if (name != nullptr && *name == "f16") return Format::f16;
  if (name != nullptr && *name == "bf16") return Format::bf16;
  refuse("there is no such \"format\"", R"("f16" or "bf16": what the gradients were computed in.)");
}

std::vector<std::string> patterns_of(std::string_view key, const json::Json& value) {
  const auto* items = value.as<json::Array>();
  std::vector<std::string> patterns;
  for (const json::Json& item : items == nullptr ? json::Array{} : *items) {
    if (const auto* pattern = item.as<std::string>()) patterns.push_back(*pattern);
  }
  if (items != nullptr && patterns.size() == items->size()) return patterns;
  refuse(fmt::format("\"{}\" is no list of patterns", key), R"(For example ["*embed*"].)");
}

GroupConfig group_of(const std::string& name, const json::Json& value, std::int64_t every) {
  constexpr const char* form = R"(A group is {"every":100,"names":["*.weight"]}, either of them.)";
  const auto* members = value.as<json::Object>();
  if (members == nullptr) refuse(fmt::format("the group \"{}\" is no object", escaped(name)), form);
  GroupConfig group;
  group.name = name;
  group.every = every;
  for (const auto& [key, what] : *members) {
    if (key == "every") {
      const auto* steps = what.as<std::int64_t>();
      group.every = steps == nullptr ? -1 : *steps;
    } else if (key == "names") {
      group.patterns = patterns_of(key, what);
    } else {
      refuse(fmt::format("the group \"{}\" has \"{}\"", escaped(name), escaped(key)), form);
    }
  }
  if (group.every >= 0 && group.every % every == 0) return group;
  refuse(fmt::format("\"every\" of the group \"{}\" is none of the steps that are looked at", escaped(name)),
         fmt::format("0, which is never, or a multiple of the monitor's own \"every\", {}.", every));
}

/// REQUIRES: `every` is the monitor's.
std::vector<GroupConfig> groups_of(const json::Json& value, std::int64_t every) {
  const auto* members = value.as<json::Object>();
  if (members == nullptr) refuse("\"groups\" is no object", R"(For example {"weights":{"every":100}}.)");
  std::vector<GroupConfig> groups;
  for (const auto& [name, group] : *members) groups.push_back(group_of(name, group, every));
  return groups;
}

struct Limit {
  std::string_view name;
  double WarnLimits::*value;
  double most;
  double least = 0;
};

constexpr double any = std::numeric_limits<double>::max();
constexpr auto limits = std::to_array<Limit>({
    {"underflow", &WarnLimits::underflow, 1},
    {"zeros", &WarnLimits::zeros, 1},
    {"rise", &WarnLimits::rise, 1},
    {"confidence", &WarnLimits::confidence, 1},
    {"overflows", &WarnLimits::overflows, 1},
    {"low_scale", &WarnLimits::low_scale, any},
    {"falling", &WarnLimits::falling, any},
    {"stuck", &WarnLimits::stuck, any, 1},
    {"looks", &WarnLimits::looks, any, 1},
});
constexpr const char* limit_names =
    "Keys of \"warn\": underflow, zeros, rise, confidence, overflows, low_scale, falling, stuck, looks, ignore";

double limit_of(const Limit& limit, const json::Json& value) {
  const auto* real = value.as<double>();
  const auto* integer = value.as<std::int64_t>();
  const double number = real != nullptr ? *real : integer != nullptr ? static_cast<double>(*integer) : -1;
  if (number >= limit.least && number <= limit.most) return number;
  refuse(fmt::format("\"{}\" is out of range", limit.name),
         limit.most == 1 ? "A number from 0 to 1." : fmt::format("A number from {} on.", limit.least));
}

WarnLimits limits_of(const json::Json& value) {
  const auto* members = value.as<json::Object>();
  if (members == nullptr) refuse("\"warn\" is no object", limit_names);
  WarnLimits set;
  for (const auto& [name, number] : *members) {
    const auto limit = std::ranges::find(limits, name, &Limit::name);
    if (limit != limits.end()) {
      set.*limit->value = limit_of(*limit, number);
    } else if (name == "ignore") {
      set.ignore = patterns_of(name, number);
    } else {
      refuse(fmt::format("there is no \"{}\" in \"warn\"", escaped(name)), limit_names);
    }
  }
  return set;
}

constexpr const char* key_names = "Keys: every, groups, sinks, format, warn";

}  // namespace

Config parse_config(const char* json) {
  Config config;
  if (json == nullptr || *json == '\0') return config;
  const json::Json parsed = json::parse(json, where, Status::invalid_argument);
  const auto* members = parsed.as<json::Object>();
  if (members == nullptr) refuse("it is no JSON object", key_names);
  const json::Json* groups = nullptr;
  for (const auto& member : *members) {
    if (member.first == "groups") {
      groups = &member.second;
    } else if (member.first == "every") {
      config.every = steps_of(member.second);
    } else if (member.first == "sinks") {
      config.sinks = sinks_of(member.second);
    } else if (member.first == "format") {
      config.format = format_of(member.second);
    } else if (member.first == "warn") {
      config.limits = limits_of(member.second);
    } else {
      refuse(fmt::format("there is no \"{}\"", escaped(member.first)), key_names);
    }
  }
  if (groups != nullptr) config.groups = groups_of(*groups, config.every);
  return config;
}

}  // namespace tare::monitor
