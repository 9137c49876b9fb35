#include "lib/device/backend.hpp"

#include "kernels/cpu/table.hpp"
#include "lib/base/module.hpp"

namespace tare {

const tare_backend_table& cpu_backend() {
  return kernels::cpu::table();
}

const tare_backend_table& cuda_backend() {
#if defined(TARE_HAS_CUDA)
  static ModuleTable<tare_backend_table> table;
  return table.get({"libtare_cuda.so", TARE_CUDA_ENTRY_POINT, TARE_RELEASE,
                    "Install it beside libtare, or use \"device\":\"cpu\"."});
#else
  throw Error(Status::unsupported, "this tare was built without CUDA", "Use \"device\":\"cpu\".");
#endif
}

void throw_backend(const tare_backend_error& error) {
  throw Error(static_cast<Status>(error.status), error.message, error.hint, error.detail);
}

}  // namespace tare
