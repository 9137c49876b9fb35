#include "lib/checkpoint/sharded_weights.hpp"

#include "lib/container/keras/shards.hpp"
#include "lib/dialect/found.hpp"

namespace tare {
namespace {

constexpr std::string_view map_ending = ".weights.json";
constexpr std::string_view shard_ending = ".weights.h5";
constexpr std::size_t number_size = 6;  // "_00000"

/// What stands before "_00000.weights.h5"; empty where the name is no shard's.
std::string_view stem_of(std::string_view name) {
  if (!name.ends_with(shard_ending)) return {};
  name.remove_suffix(shard_ending.size());
  if (name.size() <= number_size) return {};
  const std::string_view number = name.substr(name.size() - number_size);
  const bool is_number = number[0] == '_' && number.find_first_not_of("0123456789", 1) == number.npos;
  return is_number ? name.substr(0, name.size() - number_size) : std::string_view();
}

}  // namespace

bool is_weights_map(std::string_view file_name) {
  return file_name.size() > map_ending.size() && file_name.ends_with(map_ending);
}

bool is_weights_shard(std::string_view file_name) {
  return !stem_of(file_name).empty();
}

std::vector<std::string> weights_maps_of(std::string_view name) {
  const std::string_view stem = stem_of(name);
  return {std::string(stem.empty() ? name : stem).append(map_ending)};
}

OpenedWhole open_sharded_weights(const std::shared_ptr<const SourceFolder>& folder, const std::string& name) {
  OpenedWhole opened;
  opened.container = open_keras_shards(folder, name);
  opened.all_files = keras_shards_of(*folder, name);
  opened.contents = describe_contents(opened.container->tree());
  return opened;
}

}  // namespace tare
