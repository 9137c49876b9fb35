// HDF5: attributes that stand in object headers (specification IV.A.2.m).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/container/hdf5/header.hpp"
#include "lib/container/hdf5/type.hpp"

namespace tare {

struct Hdf5Attribute {
  std::string name;
  Hdf5Type type;
  std::vector<std::int64_t> shape;
  Hdf5Message value;  ///< only its place means something: block, begin, size
};

/// Those of `header` that can be read. What cannot is told as a finding at `path`.
std::vector<Hdf5Attribute> read_hdf5_attributes(Hdf5File& file, const Hdf5Header& header, const std::string& path);

/// The texts of an attribute, one an element: nothing where it holds none, or more than anybody will look at. Throws
/// Hdf5NotRead where one is not there.
std::optional<std::vector<std::string>> hdf5_texts(Hdf5File& file, const Hdf5Header& header,
                                                   const Hdf5Attribute& attribute);

}  // namespace tare
