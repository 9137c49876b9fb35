#include "lib/base/own_content.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"

namespace tare {
namespace {

/// A line that a full disk cut off has the next one behind it.
bool is_own(std::string_view there, std::string_view beginning) {
  while (!there.starts_with(beginning)) {
    const std::string_view line = there.substr(0, there.find('\n'));
    if (!beginning.starts_with(line)) return false;
    if (line.size() == there.size()) return true;
    there.remove_prefix(line.size() + 1);
  }
  return true;
}

}  // namespace

void require_own_content(const std::string& path, std::string_view beginning, std::string_view content) {
  if (local_files().type(path) != FileType::file) return;
  const auto file = local_files().open(path);
  constexpr std::uint64_t looked_at = 4096;
  const Bytes there = file->read({0, std::min(file->size(), looked_at)});
  if (is_own(as_text(there), beginning)) return;
  throw Error(Status::refused, fmt::format("{}: is there, and holds something else than {}", path, content),
              "name a file that is not there yet, or remove this one");
}

bool ends_within_line(const std::string& path) {
  try {
    if (local_files().type(path) != FileType::file) return false;
    const auto file = local_files().open(path);
    return file->size() > 0 && file->read({file->size() - 1, 1}).front() != std::byte{'\n'};
  } catch (const Error&) {
    return false;  // taken away meanwhile, it begins anew
  }
}

}  // namespace tare
