// `tare` itself: only the file system, and, as it is linked statically, no module either.
#include "tools/network.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "tools/verb.hpp"

namespace {

namespace fs = std::filesystem;

/// Beside this program, or where an installation has it.
constexpr const char* places[] = {"tare-remote", "../libexec/tare/tare-remote"};

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
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : places) execv((folder / place).c_str(), arguments);
  if (!has_url) return std::nullopt;
  fmt::print(
      stderr,
      "tare: tare-remote, which reads URLs, is not beside {}\nhint: install all of tare, or download the checkpoint\n",
      folder.string());
  return exit_failed;
}

const tare::Files& files_of(const std::string&) {
  return tare::local_files();
}
