#include "lib/base/module.hpp"

#include <dlfcn.h>

namespace tare {
namespace {

/// The folder of the library or program that this function was linked into.
std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string_view path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

}  // namespace

Module open_module(std::string_view file_name, const char* entry, const std::string& hint) {
  std::string reasons;
  for (const char* below : {"/", "/tare/", "/../lib/", "/../lib/tare/", "/../../lib/"}) {
    const std::string path = own_folder() + below + std::string(file_name);
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return {path, dlsym(library, entry)};
    const char* reason = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason == nullptr ? path : reason);
  }
  throw Error(Status::unsupported, std::string(file_name) + " cannot be opened: " + reasons, hint);
}

}  // namespace tare
