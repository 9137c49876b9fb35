// Elements of a tensor, as formats keep them that store numbers plainly, one behind the other.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/container/container.hpp"
#include "lib/container/file_change.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

/// The number that a change asks for.
double new_number(const NodeChange& change);

/// `stored`, all elements of `tensor` in that order of bytes, as `change` makes them. Throws `refused` where there are
/// no such elements, or the tensor's type cannot hold a new one.
Bytes changed_elements(const Tensor& tensor, Bytes stored, std::endian order, const NodeChange& change);

/// The bytes at `places` in `source`, which together hold all of `tensor`, and what they become; one a place, of the
/// same size. Throws as changed_elements does, and `refused` where the elements are not all there, or too many.
std::vector<Patch> element_patches(const Source& source, std::span<const Span> places, const Tensor& tensor,
                                   std::endian order, const NodeChange& change);

/// The same of one place: the bytes at `place` in `source`, which hold all of `tensor`, and what they become.
Patch element_patch(const Source& source, Span place, const Tensor& tensor, std::endian order,
                    const NodeChange& change);

}  // namespace tare
