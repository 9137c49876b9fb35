#include "lib/checkpoint/layer_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/base/file_path.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/seen_hashes.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/rank_name.hpp"

namespace tare {
namespace {

/// How long the folder is that all files lie in, so that a checkpoint's layers are called alike wherever it lies.
std::size_t common_folder(const std::vector<CheckpointFile>& files) {
  if (files.empty()) return 0;
  std::string_view common = folder_prefix(files.front().path);
  for (const CheckpointFile& file : files) {
    const auto end = std::ranges::mismatch(common, file.path).in1;
    common = folder_prefix(common.substr(0, static_cast<std::size_t>(end - common.begin())));
  }
  return common.size();
}

/// "mp_rank_*_001/model_optim_rng.pt" where all ranks that hold the layer have the same state, else the file.
std::string file_of(const Scaler& scaler, bool is_one_of_variants, const std::vector<CheckpointFile>& files) {
  const std::string& path = files[scaler.copies.front().file].path;
  return is_one_of_variants ? path : layers_group(path);
}

}  // namespace

void tell_layers_apart(std::vector<Scaler>& scalers, const std::vector<CheckpointFile>& files) {
  const auto is_fp8 = [](const Scaler& scaler) { return scaler.state().dialect->kind == "fp8"; };
  SeenHashes seen;
  std::map<std::string_view, std::vector<Scaler*>> by_path;  // of the few paths that come again
  for (const Scaler& scaler : scalers) {
    if (is_fp8(scaler) && !seen.insert(KeyedHash()(scaler.found.path))) by_path[scaler.found.path];
  }
  if (by_path.empty()) return;
  for (Scaler& scaler : scalers) {
    const auto alike = is_fp8(scaler) ? by_path.find(scaler.found.path) : by_path.end();
    if (alike != by_path.end()) alike->second.push_back(&scaler);
  }
  const std::size_t folder = common_folder(files);
  for (const auto& [path, alike] : by_path) {
    if (alike.size() == 1) continue;
    std::multiset<std::size_t> groups;
    for (const Scaler* scaler : alike) groups.insert(scaler->group);
    for (Scaler* scaler : alike) {
      scaler->found.in_file = file_of(*scaler, groups.count(scaler->group) > 1, files).substr(folder);
    }
  }
}

LayerNames::LayerNames(const Checkpoint& checkpoint)
    : checkpoint_(checkpoint), folder_(common_folder(checkpoint.files)) {}

std::vector<std::string> LayerNames::of(std::size_t file, std::string_view path) const {
  const std::string& in_file = checkpoint_.files[file].path;
  std::vector<std::string> names{layer_name(path)};
  for (const std::string& whole : {in_file, layers_group(in_file)}) {
    names.push_back(fmt::format("{}:{}", whole.substr(folder_), names.front()));
  }
  return names;
}

}  // namespace tare
