// numpy's `.npy`: a header that describes one array, then its elements, or a pickle where those are Python objects.
// Format: numpy/lib/format.py. A stream of several, one behind the other, is what equinox writes.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/container/stored_tensors.hpp"

namespace tare {

bool starts_like_npy(ByteView head);

struct NpyHeader {
  StoredTensor array;      ///< its place is that of the elements
  bool is_object = false;  ///< a pickle stands there, and nothing else
  bool is_data = false;    ///< its type is known to hold no Python objects: numpy reads no pickle
};

/// Reads the header of the array that starts at `begin`. Throws `corrupt` where it is none, or its elements pass the
/// end.
NpyHeader read_npy(const std::shared_ptr<const Source>& source, std::uint64_t begin = 0);

/// Of an array of objects: the pickle behind the header that `read_npy` gave.
std::unique_ptr<Container> open_npy_objects(const std::shared_ptr<const Source>& source, const NpyHeader& header);

/// One array, or the object that the array holds, or a list of arrays without names, which is "npy_stream".
std::unique_ptr<Container> open_npy(const std::shared_ptr<const Source>& source);

}  // namespace tare
