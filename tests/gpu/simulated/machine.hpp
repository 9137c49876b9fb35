// What runs kernels and hears of memory. The simulated runtime asks; kernels.cpp answers with the kernels' code as the
// host's compiler makes it, tests/gpu/ptx with what nvcc makes of it.
#pragma once

#include <cstddef>

namespace tare::kernels::test {

/// Bytes of the kernel's one parameter.
std::size_t argument_size(const void* kernel);
void run_kernel(const void* kernel, const void* argument, unsigned blocks, unsigned threads);

/// Whether they are taken instruction by instruction, so that tests ask for less.
bool interprets();

/// Memory that kernels may touch from now on, and no longer.
void memory_is_made(const void* data, std::size_t size);
void memory_goes(const void* data);

}  // namespace tare::kernels::test
