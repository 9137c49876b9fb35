// HDF5: attributes that stand in object headers (specification IV.A.2.m).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/hdf5/header.hpp"
#include "lib/hdf5/type.hpp"

namespace tare {

struct Hdf5Attribute {
  std::string name;
  Hdf5Type type;
  std::vector<std::int64_t> shape;
  Hdf5Message value;  ///< only its place means something: block, begin, size
};

/// Those of `header` that can be read. What cannot is told as a finding at `path`.
std::vector<Hdf5Attribute> read_hdf5_attributes(Hdf5File& file, const Hdf5Header& header, const std::string& path);

/// Names are a few, texts short: a model's configuration, which is long, is nothing that a scaler's place needs.
struct Hdf5TextBounds {
  std::uint64_t most = 256;
  std::uint64_t longest = 4096;
};

/// The texts of an attribute, one an element: nothing where it holds none, or more than anybody will look at. Throws
/// Hdf5NotRead where one is not there.
std::optional<std::vector<std::string>> hdf5_texts(Hdf5File& file, const Hdf5Header& header,
                                                   const Hdf5Attribute& attribute, const Hdf5TextBounds& bounds = {});

}  // namespace tare
