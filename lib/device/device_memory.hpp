// Telling a GPU's memory from the host's where neither a GPU nor CUDA is needed.
#pragma once

namespace tare {

/// Looks whether this process has loaded the CUDA driver by now. Where it has not, nobody can have given out memory of
/// a GPU. May allocate: to be called when something is made, not in a step.
void look_for_cuda_driver();

/// Whether `data` is memory of a GPU that the host cannot read, as the driver says that was there at the last look;
/// false where there was none.
bool is_device_memory(const void* data);

}  // namespace tare
