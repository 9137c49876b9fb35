// Every real checkpoint that torch.save wrote, held against what is known to be in it.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path corpus = fs::path(TARE_TEST_DATA) / "corpus";

struct Case {
  fs::path folder;
  json truth;

  [[nodiscard]] std::string name() const { return fs::relative(folder, corpus).string(); }
  [[nodiscard]] fs::path target() const { return folder / truth["target"].get<std::string>(); }
};

std::vector<Case> cases(const std::set<std::string>& containers) {
  std::vector<Case> found;
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    if (entry.path().filename() != "truth.json") continue;
    Case one{entry.path().parent_path(), json::parse(std::ifstream(entry.path()))};
    if (one.truth.contains("expect") || !containers.contains(one.truth.value("container", ""))) continue;
    found.push_back(std::move(one));
  }
  std::sort(found.begin(), found.end(), [](const Case& a, const Case& b) { return a.folder < b.folder; });
  return found;
}

json as_json(const Value& value);

/// Nested lists by shape. Starts at element `next`, which it moves on.
json nested(const PackedArray& array, std::size_t dimension, std::uint64_t& next) {
  if (dimension == array.shape().size()) return as_json(array.at(next++));
  json items = json::array();
  for (std::int64_t i = 0; i < array.shape()[dimension]; ++i) items.push_back(nested(array, dimension + 1, next));
  return items;
}

/// A value as truth.json writes it.
json as_json(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
  if (const auto* integer = std::get_if<Integer>(&value.data)) {
    return integer->is_big() ? json(integer->decimal) : json(integer->value);
  }
  if (const auto* number = std::get_if<double>(&value.data)) {
    return std::isfinite(*number) ? json(*number) : json(float_text(*number));
  }
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  if (const auto* array = std::get_if<PackedArray>(&value.data)) {
    std::uint64_t next = 0;
    return nested(*array, 0, next);
  }
  const auto* list = std::get_if<ValueList>(&value.data);
  if (list == nullptr) return nullptr;
  json items = json::array();
  for (const Value& item : *list) items.push_back(as_json(item));
  return items;
}

/// Truth's shape of a scaler: what has to be equal.
json as_truth(const Case& one, const Checkpoint& checkpoint, const Scaler& scaler) {
  const FoundScaler& state = scaler.state();
  json out = {{"kind", state.dialect->kind}, {"dialect", state.dialect->name}, {"path", state.path}};
  out["fields"] = out["types"] = out["roles"] = json::object();
  for (const Field& field : state.fields) {
    out["fields"][field.name] = as_json(field.value);
    out["types"][field.name] = field.value.type;
    if (field.role && field.value.number() != nullptr) {
      out["roles"][std::string(name(*field.role))] = as_json(*field.value.number());
    }
  }
  const fs::path base = fs::is_directory(one.target()) ? one.target() : one.target().parent_path();
  std::set<std::string> files;
  for (const std::size_t file : files_of(scaler)) {
    files.insert(fs::relative(base / checkpoint.files[file].path, one.folder).string());
  }
  out["files"] = files;
  return out;
}

json wanted_scalers(const Case& one) {
  json wanted = json::array();
  for (json scaler : one.truth["scalers"]) {
    if (scaler["kind"] != "loss_scale") continue;
    json kept;
    for (const char* key : {"kind", "dialect", "path", "fields", "types", "roles"}) kept[key] = scaler[key];
    kept["files"] = scaler["files"].get<std::set<std::string>>();
    wanted.push_back(std::move(kept));
  }
  return wanted;
}

}  // namespace

TEST_CASE("every scaler in a real torch checkpoint is found, with exact values, types, roles and files") {
  const auto all = cases({"torch_zip", "torch_legacy", "torch_dcp"});
  REQUIRE(all.size() > 165);
  for (const Case& one : all) {
    INFO(one.name());
    try {
      const Checkpoint checkpoint = open_checkpoint(one.target().string(), {});
      json found = json::array();
      for (const Scaler& scaler : checkpoint.scalers) {
        if (scaler.state().dialect->kind == "loss_scale") found.push_back(as_truth(one, checkpoint, scaler));
      }
      CHECK(found == wanted_scalers(one));
      for (const CheckpointFile& file : checkpoint.files) CHECK(file.format.starts_with("torch_"));
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
  }
}

TEST_CASE("a checkpoint that holds no scaler is said to hold none, and what it does hold") {
  for (const Case& one : cases({"torch_zip", "torch_legacy", "torch_dcp"})) {
    if (!one.truth["scalers"].empty()) continue;
    INFO(one.name());
    const Checkpoint checkpoint = open_checkpoint(one.target().string(), {});
    const auto is_note = [](const Finding& f) { return f.code == "no-scaler" && f.severity == Severity::note; };
    CHECK(std::count_if(checkpoint.findings.begin(), checkpoint.findings.end(), is_note) == 1);
  }
}
