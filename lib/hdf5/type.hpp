// HDF5: what an element is and how many there are: datatype and dataspace messages (specification IV.A.2.b, d).
#pragma once

#include <bit>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

struct Hdf5Type {
  enum class Form : std::uint8_t {
    number,         ///< `element` says which
    text,           ///< of fixed length
    variable_text,  ///< in a global heap
    blob,           ///< bytes without a type: how h5py stores what numpy knows by size alone
    other,
  };
  Form form = Form::other;
  ElementType element;
  std::endian order = std::endian::little;
  std::uint64_t size = 0;  ///< bytes of an element
  std::string_view name;   ///< of other forms, as a message calls it; static
};

/// Throws Hdf5NotRead where the message is cut short. Numbers of other formats than IEEE 754 (and bfloat16), and those
/// that do not fill their bytes, are `other`.
Hdf5Type read_hdf5_type(ByteView message);

/// The dimensions; empty for a scalar. Throws Hdf5NotRead for a dataspace of nothing, or of more dimensions than HDF5
/// allows.
std::vector<std::int64_t> read_hdf5_shape(ByteView message);
/// What the dimensions may grow to; the largest number for one without an end. Throws as read_hdf5_shape does.
std::vector<std::uint64_t> read_hdf5_largest_shape(ByteView message);

}  // namespace tare
