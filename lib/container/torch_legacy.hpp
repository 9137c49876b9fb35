// What torch.save wrote before 1.6, and inside TransformerEngine's extra state still does: five pickles in a row (magic
// number, protocol, system, object, storage keys), then every storage as a count and its raw bytes. No index, no
// checksum: where a storage stands follows from the sizes of those before it.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/container/torch_stream.hpp"

namespace tare {

/// Whether the first bytes are the magic number, pickled by any protocol from 2 on.
bool starts_like_torch_legacy(ByteView head);

/// Throws `corrupt` where counts, keys and sizes do not fit together: torch would load other data, or none.
std::unique_ptr<Container> open_torch_legacy(const std::shared_ptr<const Source>& source);

/// Reads a stream of any pickler. Throws `corrupt` where its object is no storage alone.
StreamedStorage read_any_stream(ByteView stream);

}  // namespace tare
