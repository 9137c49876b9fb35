// TransformerEngine's extra state as the bytes and values of a release.
#pragma once

#include <optional>

#include "lib/container/node_change.hpp"
#include "lib/dialect/extra_state.hpp"
#include "lib/dialect/frameworks/transformer_engine_empty.hpp"

namespace tare {

/// The document that the release keeps in a tensor or a stream. Throws as extra_state_document does.
Bytes extra_state_bytes(const ExtraState& state, TeRelease release);

/// The same as the value that stands in the module's state dict: a uint8 tensor, or an io.BytesIO.
NewDocument extra_state_value(const ExtraState& state, TeRelease release);

/// What is left where there is to be no FP8 state: of an object None; of a tensor a pickled None, which all releases
/// read, or nothing, as 2.4 and later have it, for such a release. transformer_engine/pytorch/module/base.py,
/// set_extra_state: 2.0 to 2.3 unpickle whatever is there; _extra_state.py: 2.18 and later pass over a pickle that
/// names nothing.
NodeValue emptied(const Tree& tree, NodeId holder, const std::optional<TeRelease>& release);

/// The release whose state goes into a place that holds none, where the user names no other.
TeRelease release_for(const UnscaledModule& place);

/// What fills the place: new contents where it has the release's form already.
NodeValue filled(const UnscaledModule& place, const Tree& tree, const ExtraState& state, TeRelease release);

/// "an io.BytesIO" ...: what the release keeps its state in.
const char* form_of(TeRelease release);

}  // namespace tare
