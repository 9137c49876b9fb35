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
  int (*all_gather)(const void* from, void* to, std::size_t count, int type, void* comm, void* stream);
  int (*send)(const void* from, std::size_t count, int type, int rank, void* comm, void* stream);
  int (*receive)(void* to, std::size_t count, int type, int rank, void* comm, void* stream);
  int (*count_ranks)(void* comm, int* out);
};

/// Looked for among what is loaded and nowhere else: another copy would not know a communicator of this one. Throws
/// `unsupported` where there is none, or one before 2.9 (whose reductions cannot be captured) or after 2.
NcclLibrary nccl_of_process();

/// Throws `unsupported` for one before 2.24, whose reductions know no fp8.
void require_fp8(const NcclLibrary& nccl);

}  // namespace tare
