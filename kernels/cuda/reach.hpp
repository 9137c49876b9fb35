// Whether a GPU can reach the memory that it is given.
#pragma once

#include <string>

namespace tare::kernels::cuda {

/// Where `data` lies, "of the host" or "of cuda:1", if a kernel on that device would fault there: memory of another
/// GPU, and what of the host's is neither pinned nor managed, but on machines whose GPUs walk the host's page tables.
/// Empty where it can be reached.
std::string unreachable_place(const void* data, int device);

/// Says of something, by its name, that it is memory of such a place.
[[noreturn]] void refuse_place(const std::string& name, const std::string& place, int device);

}  // namespace tare::kernels::cuda
