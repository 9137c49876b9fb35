#include "lib/codec/hdf5_module/handle.hpp"

#include <sys/mman.h>

#include <new>

namespace tare::hdf5 {
namespace {

/// HDF5 says of a failed allocation that resources are exhausted, wherever in the stack of its errors.
bool lacks_memory() {
  bool found = false;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* into) -> herr_t {
        if (error->maj_num == H5E_RESOURCE) *static_cast<bool*>(into) = true;
        return 0;
      },
      &found);
  return found;
}

}  // namespace

void fail(const char* doing) {
  if (lacks_memory()) throw std::bad_alloc();
  throw Error(Status::corrupt, std::string("HDF5 could not ") + doing);
}

void require_memory(std::uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  munmap(memory, bytes);
}

}  // namespace tare::hdf5
