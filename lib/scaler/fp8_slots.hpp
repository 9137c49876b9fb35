// Between a set of FP8 slots and the arrays that the kernels step.
#pragma once

#include <memory>

#include "kernels/fp8/host_slots.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {

/// The set's slots in host memory.
std::unique_ptr<kernels::fp8::HostSlots> host_slots_of(const Fp8Set& set);

/// Where the slots stand, into the set that they were made of.
void read_back(Fp8Set& set, const kernels::fp8::HostSlots& host);

}  // namespace tare
