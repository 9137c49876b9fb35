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

/// What a tensor holds where there is no FP8 state: nothing, as 2.4 and later have it, and where no release is named;
/// before, a pickled None, which those before cannot do without.
Bytes no_extra_state(const std::optional<TeRelease>& release);

/// The release whose state goes into a place that holds none, where the user names no other.
TeRelease release_for(const EmptyExtraState& place);

/// What fills the place: new contents where it has the release's form already.
NodeValue filled(const EmptyExtraState& place, const Tree& tree, const ExtraState& state, TeRelease release);

/// "an io.BytesIO" ...: what the release keeps its state in.
const char* form_of(TeRelease release);

}  // namespace tare
