// The extra state of a TransformerEngine module as its releases write it, from its values: what re-encoding and
// injecting put into a checkpoint.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dialect/found.hpp"
#include "lib/state/fp8_set.hpp"
#include "lib/tree/document.hpp"

namespace tare {

/// A release of TransformerEngine.
struct TeRelease {
  int major = 0, minor = 0;
  friend auto operator<=>(const TeRelease&, const TeRelease&) = default;
};

/// From which on the columns of a GroupedLinear go product by product.
inline constexpr TeRelease first_by_product{2, 3};
/// Which no module but GroupedLinear exceeds: attention has as many.
inline constexpr std::int64_t most_products_of_others = 3;

/// "1.13", "v2.4.1". Throws `invalid_argument` for anything else.
TeRelease parse_te_release(const std::string& text);

/// Does it keep a pickle in a uint8 tensor, recipe included? Before that: an io.BytesIO with a torch.save. Throws
/// `refused` for a release before 1.6: those store, beside a module's own state, buffers that all modules share.
bool keeps_recipe(TeRelease release);

/// The values of one module's delayed scaling.
struct ExtraState {
  /// Forward or backward: a column a tensor, a row of the history a step.
  struct Direction {
    std::vector<float> scale;
    std::vector<float> history;  ///< row-major
    double format_max = 0;
  };
  std::array<Direction, 2> directions;  ///< forward, backward
  std::int64_t history_length = 0;
  std::int64_t products = 1;  ///< matrix products: fp8_meta's num_gemms
  bool is_grouped = false;    ///< GroupedLinear's, whose columns changed their order
  double margin = 0;
  std::string amax_compute_algo = "max";
  bool reduce_amax = true, fp8_dpa = false, fp8_mha = false;
};

/// The same scales and histories, bit for bit.
bool same_values(const ExtraState& a, const ExtraState& b);

/// Throws `refused` for state whose columns are not those of 0.6 and later, or that stands in several dicts (te.ops).
ExtraState extra_state_of(const FoundScaler& state);
/// One layer of a saved state, and which of its slots (LAYER/TENSOR) are that layer's.
struct SavedLayer {
  std::string name;
  std::vector<std::size_t> slots;
};
/// Each once, in the order in which the set has them first.
std::vector<SavedLayer> layers_of(const Fp8Set& set);
/// Throws `refused` where the set has not all slots of that layer, or another policy than TransformerEngine's.
ExtraState extra_state_of(const Fp8Set& set, const SavedLayer& layer);

/// What a release would not keep: "recipe.margin = 3" ...; empty where it keeps all.
std::string unkept(const ExtraState& state, TeRelease release);

/// The dict that the release pickles or saves; the columns of a GroupedLinear in its order.
/// Throws `refused` for FP8 formats that it does not know, and where its order is one that the state would not tell.
Document extra_state_document(const ExtraState& values, TeRelease release);

}  // namespace tare
