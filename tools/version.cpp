#include "tools/version.hpp"

#include <fmt/format.h>

namespace {

#if defined(__clang__)
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "GCC " __VERSION__;
#endif

#if defined(__x86_64__)
constexpr const char* machine = "x86-64";
#elif defined(__aarch64__)
constexpr const char* machine = "aarch64";
#else
constexpr const char* machine = "another machine";
#endif

}  // namespace

std::string version_text() {
  const std::string built_from = *::commit == '\0' ? "" : fmt::format("commit {}, ", ::commit);
  return fmt::format("tare {}\n{}{}, {}", TARE_VERSION, built_from, compiler, machine);
}
