#include "lib/checkpoint/last_saved.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/container/container.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

bool has_file(const std::vector<FileEntry>& entries, std::string_view name) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const FileEntry& entry) { return entry.type == FileType::file && entry.name == name; });
}

std::optional<std::string> named_by(const Files& files, const std::string& folder, const SaveNote& row,
                                    const std::vector<FileEntry>& entries) {
  if (!has_file(entries, row.file)) return std::nullopt;
  try {
    const auto note = open_container(files.open(folder + "/" + std::string(row.file)));
    const Tree& tree = note->tree();
    const NodeId name = tree.find(tree.root, row.key);
    if (name == nowhere || tree.kind(name) != Kind::string) return std::nullopt;
    std::string last(tree.text(name));
    return has_file(entries, last) ? std::optional(std::move(last)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // another program's note of that name
  }
}

}  // namespace

std::optional<std::string> last_saved(const Files& files, const std::string& folder,
                                      const std::vector<FileEntry>& entries) {
  for (const Trainer* trainer : trainers()) {
    if (auto last = named_by(files, folder, trainer->last_save, entries)) return last;
  }
  return std::nullopt;
}

bool is_replaced(std::string_view name, std::string_view last) {
  return name != last && extension(name) == extension(last);
}

}  // namespace tare
