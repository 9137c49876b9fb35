#include "lib/device/device_memory.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

namespace tare {
namespace {

// As cuda.h has them, which need not be there.
using PointerGetAttribute = int (*)(void* value, int attribute, std::uintptr_t pointer);
constexpr int memory_type = 2;
constexpr int is_managed = 8;
constexpr unsigned of_device = 2;

std::atomic<PointerGetAttribute> driver = nullptr;

}  // namespace

void look_for_cuda_driver() {
  if (driver.load() != nullptr) return;
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
