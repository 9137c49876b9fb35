// A tensor's only element, as formats keep it that store numbers plainly.
#pragma once

#include <bit>

#include "lib/base/source.hpp"
#include "lib/container/container.hpp"
#include "lib/container/file_change.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

/// The number that a change asks for.
double new_number(const NodeChange& change);

/// The bytes at `place` in `source`, and those that store the new value there. Throws `refused` where `tensor` is no
/// single number, or its type cannot hold the new one.
Patch element_patch(const Source& source, Span place, const Tensor& tensor, std::endian order,
                    const NodeChange& change);

}  // namespace tare
