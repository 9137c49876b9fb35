// Where a trainer keeps a scaler and has saved none: a disabled GradScaler saves {}, flax None, and a damaged state
// lacks what its framework needs to load it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/dialect/state_template.hpp"

namespace tare {

struct EmptyPlace {
  const StateTemplate* form = nullptr;  ///< what belongs there
  std::string path;                     ///< of the scaler: "optimizer.grad_scaler"
  NodeId node = nowhere;                ///< None, or a map that lacks keys
  std::string_view read_by = {};        ///< which runs load what is put there; empty: any
  std::string key = {};                 ///< in the map `node`, where even the scaler's own key is not there; else empty
};

/// The place in a file of that container format ("torch_zip" ...): that at `at`, or the first that a trainer is known
/// to use. Nothing where there is none, or a whole scaler is there.
std::optional<EmptyPlace> empty_place(const Tree& tree, const FileContext& file, std::string_view format,
                                      const std::optional<std::string>& at);

}  // namespace tare
