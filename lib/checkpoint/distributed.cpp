#include "lib/checkpoint/distributed.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/torch/dcp.hpp"
#include "lib/dialect/stored_items.hpp"

namespace tare {
namespace {

constexpr std::string_view metadata_name = ".metadata";
constexpr std::string_view note = "metadata.json";
constexpr std::string_view common_file = "common.pt";

/// Items that every checkpoint of Megatron-core has: the common state, or (beside a common.pt) the ranks' random
/// states.
bool is_megatrons(const DcpItem& item) {
  return item.key.starts_with("common_state/") || item.key.starts_with("rng_state/");
}

/// Whether Megatron's note says that the common state is a file of its own.
bool names_common_file(const SourceFolder& folder) {
  if (!folder.has(std::string(note))) return false;
  try {
    const auto opened = open_container(folder.open(std::string(note)));
    return opened->tree().find(opened->tree().root, "common_backend") != nowhere;
  } catch (const Error&) {
    return false;  // another program's file of that name
  }
}

}  // namespace

bool is_distributed_metadata(std::string_view file_name) {
  if (file_name == metadata_name) return true;
  if (!file_name.starts_with("__") || !file_name.ends_with(metadata_name)) return false;
  const std::string_view rank = file_name.substr(2, file_name.size() - 2 - metadata_name.size());
  return !rank.empty() && rank.find_first_not_of("0123456789") == rank.npos;
}

bool is_distributed_data(std::string_view file_name) {
  return file_name.ends_with(".distcp");
}

std::vector<std::string> distributed_metadata_of(std::string_view file_name) {
  if (!is_distributed_data(file_name)) return {};
  return {std::string(metadata_name), std::string(file_name.substr(0, file_name.find('_', 2))).append(metadata_name)};
}

OpenedWhole open_distributed(const std::shared_ptr<const SourceFolder>& folder, const std::string& name) {
  OpenedWhole opened;
  bool is_megatron = false;
  opened.container = open_torch_dcp(folder, name, [&](const DcpMetadata& metadata) {
    opened.all_files = metadata.files;
    is_megatron = std::any_of(metadata.items.begin(), metadata.items.end(), is_megatrons);
    std::vector<StoredItem> items;
    items.reserve(metadata.items.size());
    for (const DcpItem& item : metadata.items) items.push_back({item.key, item.is_tensor, item.place.size});
    opened.contents = describe_items(items);
    return possible_state(items);
  });
  if (is_megatron && !folder->has(std::string(note))) {
    opened.findings.push_back({Severity::warning, "incomplete-checkpoint",
                               "without metadata.json, which is written last, Megatron takes this for no checkpoint",
                               "", ""});
  }
  if (names_common_file(*folder) && !folder->has(std::string(common_file))) {
    opened.findings.push_back({Severity::error, "incomplete-checkpoint",
                               "metadata.json tells of a common.pt, which is not there: Megatron cannot load it", "",
                               ""});
  }
  return opened;
}

}  // namespace tare
