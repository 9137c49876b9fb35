// Models whose weights are stored in 8 or 4 bits, with their scales as tensors beside them.
#pragma once

#include <vector>

#include "lib/dialect/dialect.hpp"

namespace tare {

/// All scales in `map`, each with the dialect that wrote it: what lies beside a scale tells. It is the finder of the
/// first such dialect in the table, so that keys are looked at once.
Matches find_stored_weights(const Tree& tree, NodeId map, NodeId root);

/// The types of those weights that stand beside a weight_scale.
struct ScaledTypes {
  bool have_int8 = false, have_float8 = false;
};
ScaledTypes scaled_types(const Tree& tree);

/// Whether nothing but its weight, which may stand in another file, tells that a scale is one of FP8 and not of INT8.
bool is_told_by_weight_alone(const FoundScaler& scaler);

/// The finder of the others: none.
Matches found_with_other_weights(const Tree& tree, NodeId map, NodeId root);

}  // namespace tare
