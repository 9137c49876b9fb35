// Elements of a tensor, as formats keep them that store numbers plainly, one behind the other.
#pragma once

#include <bit>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/stored_tensors.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

/// The number that a change asks for.
double new_number(const NodeChange& change);

/// `stored`, all elements of `tensor` in row-major order, their bytes in that order, as `change` makes them. Throws
/// `refused` where there are no such elements, or the tensor's type cannot hold a new one.
Bytes changed_elements(const Tensor& tensor, Bytes stored, std::endian order, const NodeChange& change);

/// The bytes at the places of `stored`, and what they become; one a place, of the same size. Throws as changed_elements
/// does, and `refused` where the elements are not all there, or too many.
std::vector<Patch> element_patches(const StoredTensor& stored, const NodeChange& change);

/// The same of one that has one place.
Patch element_patch(const StoredTensor& stored, const NodeChange& change);

}  // namespace tare
