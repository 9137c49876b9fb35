// The GPU tests' own main: without a GPU nothing is tested, and that is said aloud (exit 77, which ctest calls
// skipped).
#define CATCH_CONFIG_RUNNER
#include <cuda_runtime_api.h>

#include <cstdio>

#include "tests/catch.hpp"

int main(int argc, char** argv) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    std::printf("NOT RUN: no GPU here: %s\n", cudaGetErrorString(result));
    return 77;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) return 1;
    std::printf("cuda:%d is %s, sm_%d%d, %d multiprocessors\n", i, properties.name, properties.major, properties.minor,
                properties.multiProcessorCount);
  }
  return Catch::Session().run(argc, argv);
}
