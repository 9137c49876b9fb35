#include "lib/device/cuda_library.hpp"

#include "lib/base/module.hpp"

namespace tare {

const tare_cuda_table& cuda_library() {
#if defined(TARE_HAS_CUDA)
  static ModuleTable<tare_cuda_table> table;
  return table.get({"libtare_cuda.so", TARE_CUDA_ENTRY_POINT, TARE_RELEASE,
                    "Install it beside libtare, or use \"device\":\"cpu\"."});
#else
  throw Error(Status::unsupported, "this tare was built without CUDA", "Use \"device\":\"cpu\".");
#endif
}

void throw_cuda(const tare_cuda_error& error) {
  const auto status = static_cast<Status>(error.status);
  const char* hint = status == Status::backend ? "\"device\":\"cpu\" needs no GPU." : "";
  throw Error(status, error.message, hint, error.detail);
}

}  // namespace tare
