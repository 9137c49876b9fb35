#include "lib/checkpoint/last_saved.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/container/container.hpp"

namespace tare {
namespace {

constexpr std::string_view note_name = "meta.json";
constexpr std::string_view key = "last_ckpt_file";

bool has_file(const std::vector<FileEntry>& entries, std::string_view name) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const FileEntry& entry) { return entry.type == FileType::file && entry.name == name; });
}

}  // namespace

std::optional<std::string> last_saved(const Files& files, const std::string& folder,
                                      const std::vector<FileEntry>& entries) {
  if (!has_file(entries, note_name)) return std::nullopt;
  try {
    const auto note = open_container(files.open(folder + "/" + std::string(note_name)));
    const Tree& tree = note->tree();
    const NodeId name = tree.find(tree.root, key);
    if (name == nowhere || tree.kind(name) != Kind::string) return std::nullopt;
    std::string last(tree.text(name));
    return has_file(entries, last) ? std::optional(std::move(last)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // another program's note of that name
  }
}

bool is_replaced(std::string_view name, std::string_view last) {
  return name != last && extension(name) == extension(last);
}

}  // namespace tare
