#include "lib/base/companion.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/local_paths.hpp"
#include "lib/base/own_file.hpp"
#include "lib/base/release_note.hpp"
#include "lib/base/trust.hpp"

namespace tare {
namespace {

/// Why the file at `path`, which `link` led to, may not run; empty where it may.
std::string objection(const std::string& link, const std::string& path, const std::string& own,
                      std::string_view release) {
  for (const std::string& place : {link, path}) {
    if (std::string reason = distrust(place, own); !reason.empty()) return reason;
  }
  try {
    const std::string noted = release_noted_in(FileSource(path));
    if (noted == release) return {};
    if (noted.empty()) return path + " is no file of tare's";
    return path + " is of release " + noted + " of tare, not of " + std::string(release);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

Companion find_companion(std::string_view file_name, std::span<const char* const> folders, std::string_view release) {
  const std::string own = own_file();
  if (!own.starts_with('/')) return {"", "where tare lies cannot be told: is /proc mounted?"};
  const std::string own_folder = own.substr(0, own.rfind('/') + 1);
  Companion found;
  std::vector<std::string> looked_at;
  std::string absent;
  for (const char* folder : folders) {
    std::string link;
    if (resolve_path(own_folder + folder, link) != 0) continue;  // no such folder
    link = (link == "/" ? link : link + '/').append(file_name);
    if (std::find(looked_at.begin(), looked_at.end(), link) != looked_at.end()) continue;
    looked_at.push_back(link);
    std::string path;
    if (const int error = resolve_path(link, path); error == ENOENT) {
      absent += (absent.empty() ? "" : ", ") + link;
      continue;
    } else if (error != 0) {
      path = link;  // what is wrong is said when it is looked at
    }
    std::string reason = objection(link, path, own, release);
    if (reason.empty()) return {path, ""};
    found.reason += (found.reason.empty() ? "" : "; ") + reason;
  }
  if (found.reason.empty()) found.reason = "there is no " + (absent.empty() ? std::string(file_name) : absent);
  return found;
}

}  // namespace tare
