// The NCCL of this process: what made the communicators that callers hand over. Nothing of NCCL is needed to build.
#pragma once

#include <cstddef>

namespace tare {

/// As nccl.h has them; 0 is success.
struct NcclLibrary {
  int (*version)(int* out);
  const char* (*text_of)(int result);
  int (*device_of)(void* comm, int* out);
  int (*failure_of)(void* comm, int* out);
  int (*group_start)();
  int (*group_end)();
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int operation, void* comm, void* stream);
};

/// Looked for among what is loaded and nowhere else: another copy would not know a communicator of this one. Throws
/// `unsupported` where there is none, or one before 2.9 (whose reductions cannot be captured) or after 2.
NcclLibrary nccl_of_process();

}  // namespace tare
