#include "lib/base/own_content.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"

namespace tare {

void require_own_content(const std::string& path, std::string_view beginning, std::string_view content) {
  if (local_files().type(path) != FileType::file) return;
  const auto file = local_files().open(path);
  const Bytes there = file->read({0, std::min<std::uint64_t>(file->size(), beginning.size())});
  if (there.empty() || std::ranges::equal(there, as_bytes(beginning))) return;
  throw Error(Status::refused, fmt::format("{}: is there, and holds something else than {}", path, content),
              "name a file that is not there yet, or remove this one");
}

}  // namespace tare
