#include "lib/base/module.hpp"

#include <dlfcn.h>

#include "lib/base/companion.hpp"
#include "lib/base/own_file.hpp"

namespace tare {
namespace {

/// From the folder of the library, of a command that lies beside it, in bin, or in libexec/tare.
constexpr const char* folders[] = {".", "tare", "../lib", "../lib/tare", TARE_LIB_FROM_BIN, TARE_LIB_FROM_LIBEXEC};

}  // namespace

Module open_module(std::string_view file_name, const char* entry, std::string_view release, const std::string& hint) {
  const auto fail = [&](const std::string& reason) {
    throw Error(Status::unsupported, std::string(file_name) + " cannot be opened: " + reason, hint);
  };
  if (is_static_program()) {
    throw NoLoader(Status::unsupported,
                   std::string(file_name) + " cannot be opened: a program without a loader opens no module", hint);
  }
  const Companion module = find_companion(file_name, folders, release);
  if (module.path.empty()) fail(module.reason);
  void* const library = dlopen(module.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    fail(reason == nullptr ? module.path : reason);
  }
  return {module.path, dlsym(library, entry)};
}

}  // namespace tare
