// `tare` itself: only the file system, and, as it is linked statically, no module either.
#include "tools/network.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "lib/base/companion.hpp"
#include "lib/base/text.hpp"
#include "tools/verb.hpp"

namespace {

/// Beside this program, or where an installation has it.
constexpr const char* folders[] = {".", TARE_LIBEXEC_FROM_BIN, "../libexec/tare"};

/// Checkpoints in HDF5 are read here, too; states are written and read by libhdf5, in a module.
bool is_hdf5(const char* argument) {
  return std::string_view(argument).ends_with(".h5");
}

}  // namespace

std::optional<int> hand_over(char** arguments) {
  char** end = arguments;
  while (*end != nullptr) ++end;
  const bool has_url = std::any_of(arguments, end, [](const char* argument) { return tare::is_url(argument); });
  if (!has_url && std::none_of(arguments, end, is_hdf5)) return std::nullopt;
  const tare::Companion remote = tare::find_companion("tare-remote", folders, TARE_RELEASE);
  if (!remote.path.empty()) execv(remote.path.c_str(), arguments);
  if (!has_url) return std::nullopt;
  const std::string reason = remote.path.empty() ? remote.reason : remote.path + ": " + std::strerror(errno);
  fmt::print(stderr, "tare: tare-remote, which reads URLs, cannot be run: {}\n", tare::escaped(reason));
  fmt::print(stderr, "hint: install all of tare, or download the checkpoint\n");
  return exit_failed;
}

const tare::Files& files_of(const std::string&) {
  return tare::local_files();
}
