#include "lib/checkpoint/bundle.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"
#include "lib/container/tensorflow/tensor_bundle.hpp"
#include "lib/dialect/stored_items.hpp"

namespace tare {
namespace {

constexpr std::string_view index_ending = ".index";
constexpr std::string_view data_pattern = ".data-#####-of-#####";  // '#': a digit

bool fits(std::string_view text, std::string_view pattern) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '#' ? !is_digit(text[i]) : text[i] != pattern[i]) return false;
  }
  return true;
}

/// Other programs, too, call files so.
void require_bundle(const SourceFolder& folder, const std::string& name) {
  const auto source = folder.open(name);
  if (ends_like_leveldb_table(*source) || folder.has(bundle_data_name(name, 0, 1))) return;
  throw Error(Status::unsupported, fmt::format("{}: is no index of a TensorFlow checkpoint", source->name()),
              "it is another program's, or cut short");
}

}  // namespace

bool is_bundle_index(std::string_view file_name) {
  return file_name.size() > index_ending.size() && file_name.ends_with(index_ending);
}

bool is_bundle_data(std::string_view file_name) {
  return file_name.size() > data_pattern.size() &&
         fits(file_name.substr(file_name.size() - data_pattern.size()), data_pattern);
}

std::vector<std::string> bundle_indices_of(std::string_view name) {
  if (is_bundle_data(name)) name.remove_suffix(data_pattern.size());
  return {std::string(name).append(index_ending)};
}

OpenedWhole open_bundle(const std::shared_ptr<const SourceFolder>& folder, const std::string& name) {
  require_bundle(*folder, name);
  OpenedWhole opened;
  opened.container = open_tensor_bundle(folder, name, [&](const BundleIndex& index) {
    std::vector<StoredItem> items;
    items.reserve(index.items.size());
    for (const BundleItem& item : index.items) items.push_back({item.key, true, item.place.size});
    for (std::uint64_t shard = 0; shard < index.shards; ++shard) {
      opened.all_files.push_back(bundle_data_name(name, shard, index.shards));
    }
    opened.contents = describe_items(items);
    return possible_state(items);
  });
  return opened;
}

}  // namespace tare
