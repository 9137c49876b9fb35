// Element types of NumPy in pickles, whose state NumPy believes.
#pragma once

#include "lib/tree/tree.hpp"

namespace tare {

/// Whether a numpy.dtype has a state that NumPy does not write: one that says that there are no Python objects in a
/// type that has some, or the other way round. NumPy 2.4 then takes bytes of the file for the addresses of objects.
/// Source: numpy/_core/src/multiarray/descriptor.c, arraydescr_setstate.
bool has_false_array_type(const Tree& tree);

}  // namespace tare
