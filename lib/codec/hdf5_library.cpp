#include "lib/codec/hdf5_library.hpp"

#include <dlfcn.h>

#include <atomic>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr std::string_view module_name = "libtare_hdf5.so";

/// The folder of the library or program that this function was linked into.
std::string own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string_view path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

const tare_hdf5_table& open_at(const std::string& path, void* library) {
  const auto entry = reinterpret_cast<tare_hdf5_entry_point>(dlsym(library, TARE_HDF5_ENTRY_POINT));
  const tare_hdf5_table* table = entry == nullptr ? nullptr : entry();
  if (table == nullptr || table->struct_size != sizeof(tare_hdf5_table) ||
      std::string_view(table->release) != TARE_RELEASE) {
    throw Error(Status::unsupported, path + " is not of this release of tare (" TARE_RELEASE ")",
                "Install both from one build.");
  }
  return *table;
}

const tare_hdf5_table& open_module() {
  std::string reasons;
  for (const char* below : {"/", "/tare/", "/../lib/", "/../lib/tare/"}) {
    const std::string path = own_folder() + below + std::string(module_name);
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return open_at(path, library);
    const char* reason = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason == nullptr ? path : reason);
  }
  throw Error(Status::unsupported, "the HDF5 module cannot be opened: " + reasons,
              "Install " + std::string(module_name) + " beside libtare, or keep states as JSON.");
}

}  // namespace

const tare_hdf5_table& hdf5_library() {
  // Two threads may open it at once: dlopen gives both the same.
  static std::atomic<const tare_hdf5_table*> opened{nullptr};
  const tare_hdf5_table* table = opened.load(std::memory_order_acquire);
  if (table == nullptr) {
    table = &open_module();
    opened.store(table, std::memory_order_release);
  }
  return *table;
}

}  // namespace tare
