#include "lib/checkpoint/distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/container/torch_dcp.hpp"
#include "lib/dialect/stored_items.hpp"

namespace tare {
namespace {

constexpr std::string_view metadata_name = ".metadata";
constexpr std::size_t most_described = 6;

/// Items that every checkpoint of Megatron-core has: the common state, or (beside a common.pt) the ranks' random
/// states.
bool is_megatrons(const DcpItem& item) {
  return item.key.starts_with("common_state/") || item.key.starts_with("rng_state/");
}

/// "57 tensors and 12 objects under model, optim"
std::string description(const DcpMetadata& metadata) {
  std::vector<std::string_view> keys;
  std::size_t tensors = 0;
  bool has_more = false;
  std::string_view last_key;
  for (const DcpItem& item : metadata.items) {
    if (item.is_tensor && item.key != last_key) ++tensors;
    last_key = item.key;
    const std::string_view top = item.key.substr(0, item.key.find_first_of("./"));
    if (std::find(keys.begin(), keys.end(), top) != keys.end()) continue;
    has_more = keys.size() == most_described;
    if (!has_more) keys.push_back(top);
  }
  const auto objects =
      std::count_if(metadata.items.begin(), metadata.items.end(), [](const DcpItem& item) { return !item.is_tensor; });
  return fmt::format("{} tensor{} and {} object{} under {}{}", tensors, tensors == 1 ? "" : "s", objects,
                     objects == 1 ? "" : "s", fmt::join(keys, ", "), has_more ? " ..." : "");
}

}  // namespace

bool is_distributed_metadata(std::string_view file_name) {
  if (file_name == metadata_name) return true;
  if (!file_name.starts_with("__") || !file_name.ends_with(metadata_name)) return false;
  const std::string_view rank = file_name.substr(2, file_name.size() - 2 - metadata_name.size());
  return !rank.empty() && rank.find_first_not_of("0123456789") == rank.npos;
}

bool is_distributed_part(std::string_view file_name) {
  return is_distributed_metadata(file_name) || file_name.ends_with(".distcp");
}

std::shared_ptr<const Source> Directory::open(const std::string& name) const {
  const auto known = opened_.find(name);
  if (known != opened_.end()) return known->second;
  if (!is_plain_relative(name)) {
    throw Error(Status::refused, fmt::format("{}: names the file '{}', which may lie outside it", path_, name),
                "no framework writes such a name; find out who made this checkpoint");
  }
  const std::string path = path_ + "/" + name;
  const bool may_leave = files_.link_target(path) || name.find('/') != name.npos;
  if (may_leave && files_.type(path) != FileType::absent && !files_.is_inside(path, path_)) {
    throw Error(Status::refused, fmt::format("{}: is a link out of the checkpoint", path),
                "give a copy that holds the file itself");
  }
  return opened_.try_emplace(name, files_.open(path)).first->second;
}

bool Directory::has(const std::string& name) const {
  return is_plain_relative(name) && files_.type(path_ + "/" + name) != FileType::absent;
}

Distributed open_distributed(const std::shared_ptr<const SourceFolder>& folder, const std::string& name) {
  Distributed opened;
  opened.container = open_torch_dcp(folder, name, [&](const DcpMetadata& metadata) {
    opened.contents = description(metadata);
    opened.all_files = metadata.files;
    opened.is_megatron = std::any_of(metadata.items.begin(), metadata.items.end(), is_megatrons);
    std::vector<StoredItem> items;
    items.reserve(metadata.items.size());
    for (const DcpItem& item : metadata.items) items.push_back({item.key, item.is_tensor, item.place.size});
    return possible_state(items);
  });
  return opened;
}

}  // namespace tare
