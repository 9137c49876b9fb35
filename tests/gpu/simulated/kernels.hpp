// The kernels as functions of the host.
#pragma once

#include <cstddef>

namespace tare::kernels::test {

struct SimulatedKernel {
  void (*run)(const void* argument, unsigned blocks, unsigned threads);
  std::size_t argument_size;
};

}  // namespace tare::kernels::test
