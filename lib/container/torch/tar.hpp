// The tar archives of torch before 0.2: members `storages`, `tensors` and `pickle`, the object itself. Read only: what
// torch of today still loads, it saves in a newer format. Source: torch/serialization.py, _legacy_load's legacy_load.
#pragma once

#include <memory>
#include <optional>

#include "lib/container/container.hpp"

namespace tare {

/// Whether the first bytes are a tar archive's. Which one, its members tell.
bool starts_like_tar(ByteView head);

/// Throws `unsupported` for other archives, `corrupt` where a header's size is none or passes the end, and what reading
/// the pickle throws. Tensors stay opaque; every change is refused.
std::unique_ptr<Container> open_torch_tar(const std::shared_ptr<const Source>& source);

/// The place of the object's pickle; nothing in other archives. Throws `corrupt` as above.
std::optional<Span> torch_tar_object(const Source& source);

}  // namespace tare
