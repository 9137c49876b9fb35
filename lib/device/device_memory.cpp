#include "lib/device/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace tare {
namespace {

// As cuda.h has them, which need not be there.
using PointerGetAttribute = int (*)(void* value, int attribute, std::uintptr_t pointer);
constexpr int memory_type = 2;
constexpr int is_managed = 8;
constexpr unsigned of_device = 2;

std::atomic<PointerGetAttribute> driver = nullptr;

/// Without an allocation, which dlopen makes even for what is not there.
bool is_driver_loaded() {
  const auto is_driver = [](dl_phdr_info* library, std::size_t, void*) {
    return std::strstr(library->dlpi_name, "libcuda.so") != nullptr ? 1 : 0;
  };
  return ::dl_iterate_phdr(is_driver, nullptr) != 0;
}

}  // namespace

void look_for_cuda_driver() {
  if (driver.load() != nullptr || !is_driver_loaded()) return;
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  driver = reinterpret_cast<PointerGetAttribute>(::dlsym(library, "cuPointerGetAttribute"));  // and it stays loaded
}

bool is_device_memory(const void* data) {
  const PointerGetAttribute attribute = driver.load(std::memory_order_acquire);
  if (attribute == nullptr) return false;
  const auto pointer = reinterpret_cast<std::uintptr_t>(data);
  unsigned type = 0;
  if (attribute(&type, memory_type, pointer) != 0 || type != of_device) return false;
  unsigned managed = 0;
  return attribute(&managed, is_managed, pointer) != 0 || managed == 0;
}

}  // namespace tare
