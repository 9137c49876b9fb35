// The kernels as functions of the host.
#pragma once

namespace tare::kernels::test {

struct SimulatedKernel {
  void (*run)(const void* argument, unsigned blocks, unsigned threads);
};

}  // namespace tare::kernels::test
