#include "lib/attest/elements.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/attest/broken_file.hpp"
#include "lib/attest/other_nature.hpp"
#include "lib/base/file_path.hpp"
#include "lib/container/numpy/npy.hpp"

namespace tare {
namespace {

/// What lies beside a description, and below it: an array's chunks; the nodes of an OCDBT database.
struct Description {
  std::string_view name;
  std::string_view folder;
};
constexpr auto descriptions =
    std::to_array<Description>({{".zarray", ""}, {"zarr.json", ""}, {"manifest.ocdbt", "d/"}});

}  // namespace

bool is_named_as_elements(std::string_view file_name) {
  return file_name.find_first_not_of("0123456789abcdef._") == file_name.npos;
}

std::set<std::string> folders_of_elements(const std::vector<std::string>& paths) {
  std::set<std::string> folders;
  for (const std::string& path : paths) {
    const std::string_view name = file_name(path);
    const auto found = std::ranges::find(descriptions, name, &Description::name);
    if (found == descriptions.end()) continue;
    folders.insert(path.substr(0, path.size() - name.size()) + std::string(found->folder));
  }
  return folders;
}

Doubt doubt_of_elements(const std::shared_ptr<const Source>& source) {
  constexpr std::uint64_t signature = 16;
  const Bytes head = source->read({0, std::min(source->size(), signature)});
  if (as_text(head).starts_with("PK\x03\x04")) return {"begins with a zip archive", {}, 0};
  if (starts_like_npy(head)) return doubt_of_broken(source, "is an array of NumPy, too");
  return other_nature(*source, elements_format);
}

}  // namespace tare
