// Errors that a test wants from the simulated runtime.
#pragma once

#include <cuda_runtime_api.h>

namespace tare::kernels::test {

/// The launch after so many more fails with `error`, and nothing else does.
void fail_a_launch(int after, cudaError_t error);

/// The device's compute capability from then on; 9 at first.
void say_capability(int major);

}  // namespace tare::kernels::test
