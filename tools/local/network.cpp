// `tare` itself: only the file system, and, as it is linked statically, no module either.
#include "tools/network.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/base/companion.hpp"
#include "lib/base/error.hpp"
#include "lib/checkpoint/paths_matching.hpp"
#include "lib/codec/state_file.hpp"
#include "tools/local/probe.hpp"

using namespace tare;

namespace {

/// Beside this program, or where an installation has it.
constexpr const char* folders[] = {".", TARE_LIBEXEC_FROM_BIN, "../libexec/tare"};

char** kept_arguments = nullptr;

/// For what only tare-remote does, in words, and what to do where it cannot be had.
[[noreturn]] void hand_over(const char* what, const char* instead) {
  const Companion remote = find_companion("tare-remote", folders, TARE_RELEASE);
  std::string reason = remote.path.empty() ? remote.reason : why_not_runnable(remote.path);
  if (reason.empty()) {
    ::execv(remote.path.c_str(), kept_arguments);
    reason = remote.path + ": " + std::strerror(errno);
  }
  throw Error(Status::io, fmt::format("tare-remote, which {}, cannot be run: {}", what, reason), instead);
}

}  // namespace

void keep_arguments(char** arguments) {
  kept_arguments = arguments;
}

void reach(const std::string& path) {
  if (is_url(path))
    hand_over("reads URLs", "install all of tare and what tare-remote needs, or download the checkpoint");
}

std::vector<std::string> reached(const std::vector<std::string>& paths) {
  std::vector<std::string> meant;
  for (const std::string& path : paths) {
    reach(path);
    const auto found = local_paths_matching(local_files(), path);
    meant.insert(meant.end(), found.begin(), found.end());
  }
  return meant;
}

void reach_output(const std::string& path) {
  if (!is_hdf5_name(path)) return;
  hand_over("writes states in HDF5", "install all of tare and what tare-remote needs, or keep the state as .json");
}

ObjectLayer* changeable_objects(const std::string& path) {
  reach(path);
  return nullptr;
}

const Files& files_of(const std::string& path) {
  reach(path);
  return local_files();
}
