#include "lib/checkpoint/distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/torch/dcp.hpp"
#include "lib/dialect/stored_items.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

constexpr std::string_view metadata_name = ".metadata";

/// The trainer that keeps such items; null where it is nobody's that adds files.
const Trainer* trainer_of(const ReallocVector<DcpItem>& items) {
  const auto is_kept_by = [&](const Trainer* trainer) {
    return std::ranges::any_of(trainer->distributed.items, [&](std::string_view beginning) {
      return std::ranges::any_of(items, [&](const DcpItem& item) { return item.key.starts_with(beginning); });
    });
  };
  const auto found = std::ranges::find_if(trainers(), is_kept_by);
  return found == trainers().end() ? nullptr : *found;
}

/// Whether a trainer's note says that the common state is a file of its own.
bool names_common_file(const SourceFolder& folder, const DistributedFolder& distributed) {
  if (distributed.common_key.empty() || !folder.has(std::string(distributed.note))) return false;
  try {
    const auto opened = open_container(folder.open(std::string(distributed.note)));
    return opened->tree().find(opened->tree().root, distributed.common_key) != nowhere;
  } catch (const Error&) {
    return false;  // another program's file of that name
  }
}

void tell_incomplete(Severity severity, std::string message, std::vector<Finding>& findings) {
  findings.push_back({severity, "incomplete-checkpoint", std::move(message), "", ""});
}

void tell_of_common_files(const SourceFolder& folder, std::vector<Finding>& findings) {
  for (const Trainer* trainer : trainers()) {
    const DistributedFolder& distributed = trainer->distributed;
    if (!names_common_file(folder, distributed) || folder.has(std::string(distributed.common_file))) continue;
    tell_incomplete(Severity::error,
                    fmt::format("{} tells of a {}, which is not there: {} cannot load it", distributed.note,
                                distributed.common_file, trainer->name),
                    findings);
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
  const Trainer* trainer = nullptr;
  opened.container = open_torch_dcp(folder, name, [&](const DcpMetadata& metadata) {
    opened.all_files = metadata.files;
    trainer = trainer_of(metadata.items);
    std::vector<StoredItem> items;
    items.reserve(metadata.items.size());
    for (const DcpItem& item : metadata.items) items.push_back({item.key, item.is_tensor, item.place.size});
    opened.contents = describe_items(items);
    return possible_state(items);
  });
  if (trainer != nullptr && !folder->has(std::string(trainer->distributed.note))) {
    tell_incomplete(Severity::warning,
                    fmt::format("without {}, which is written last, {} takes this for no checkpoint",
                                trainer->distributed.note, trainer->name),
                    opened.findings);
  }
  tell_of_common_files(*folder, opened.findings);
  return opened;
}

}  // namespace tare
