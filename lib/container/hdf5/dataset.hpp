// HDF5: where a dataset's elements are: contiguous, or compact in its own header (specification IV.A.2.i).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/container/stored_tensors.hpp"
#include "lib/hdf5/attribute.hpp"
#include "lib/hdf5/dataset.hpp"
#include "lib/hdf5/header.hpp"

namespace tare {

struct Hdf5Dataset {
  StoredTensor stored;
  bool is_in_header = false;
  std::optional<Span> covered;  ///< the block in the file that the elements stand in, where a checksum follows it
};

/// Throws Hdf5NotRead for chunked, filtered, virtual and external storage, for elements that are no numbers, and for
/// data that are not in the file.
Hdf5Dataset read_hdf5_dataset(Hdf5File& file, const Hdf5Header& header, const std::vector<Hdf5Attribute>& attributes);

/// The text of a dataset that holds one, of fixed length; nothing where it holds something else, or much more than a
/// word. Throws Hdf5NotRead where it is cut short.
std::optional<std::string> hdf5_dataset_text(Hdf5File& file, const Hdf5Header& header);

/// The texts of a dataset of one dimension that holds texts of fixed length; nothing where it holds something else.
/// Throws Hdf5NotRead where not all of them are stored, or they are more than there can be.
std::optional<std::vector<std::string>> hdf5_dataset_texts(Hdf5File& file, const Hdf5Header& header);

/// Whether its elements are in chunks, which filters may have packed.
bool is_hdf5_chunked(const Hdf5Header& header);

/// Elements in chunks, unpacked into memory of their own: no place in the file. Throws as read_hdf5_dataset, and for
/// more than limits::max_state_bytes.
Hdf5Dataset unpacked_hdf5_dataset(Hdf5File& file, const Hdf5Header& header, const std::string& name);

/// An attribute's value as a tensor. REQUIRES: a number type. Throws Hdf5NotRead where it is cut short.
Hdf5Dataset hdf5_attribute_tensor(const Hdf5File& file, const Hdf5Header& header, const Hdf5Attribute& attribute);

}  // namespace tare
