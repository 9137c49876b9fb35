// Values of FP8 state that a user gives: scale.input=2^4, amax_history.grad_output=0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/checkpoint/choose.hpp"
#include "lib/container/node_change.hpp"
#include "lib/dialect/extra_state.hpp"
#include "lib/dialect/found.hpp"
#include "lib/edit/fp8_key.hpp"

namespace tare {

/// One field of a state as it becomes.
struct NewField {
  std::string name;
  Value after;
  NodeValue data;  ///< for the container
};

/// What `wanted` makes of the slots that the key means. A scale is a multiplier, as inspect shows it: it is stored as
/// the framework stores it, and its reciprocal goes along where there is one. An amax is given to all entries of a
/// history. With a native name the number is what the field will hold. Throws `refused` where no slot is meant, or
/// (unless `force`) the value is of no use or the scale is one that tensors in the checkpoint were quantised with:
/// their values would change. Throws `invalid_argument` where it is no number.
///
/// Here and below `choice` says which slots of a set of tare's own are meant; with a pattern, or all layers, a tensor
/// goes by its name within its layer, too.
std::vector<NewField> new_fp8_values(const FoundScaler& state, const Fp8Key& key, const StateValue& wanted, bool force,
                                     const Fp8Choice& choice = {});

/// As the framework starts: every scale 1, every history 0, of `length` entries where that is not 0. Throws `refused`
/// for state that tensors in the file were quantised with: their values would change.
std::vector<NewField> reset_fp8(const FoundScaler& state, std::int64_t length, const Fp8Choice& choice = {});

/// Every scale as the framework's rule makes it from the stored history, with the recipe's margin and algorithm; one
/// whose history says nothing stays. Throws as reset_fp8 does.
std::vector<NewField> recomputed_fp8(const FoundScaler& state, const Fp8Choice& choice = {});

/// Histories of `length` entries. TransformerEngine's as it makes them of loaded ones: zeros at the end, or a cut
/// there; the recipe's own number goes along. flax's keep their newest entries where its rule looks for them. Throws
/// `refused` for state of frameworks that would not load it, and for some slots of a set, whose histories have one
/// length.
std::vector<NewField> resized_fp8(const FoundScaler& state, std::int64_t length, const Fp8Choice& choice = {});

/// The columns of a GroupedLinear as that release orders them: up to 2.2 all inputs, all weights, all outputs; from 2.3
/// on input, weight and output of each matrix product, as in every other module. Nothing in the state tells which it
/// has: it is taken to have the other. Throws `refused` for state that is not of several products. Source:
/// transformer_engine/pytorch/module/grouped_linear.py of 2.2 and 2.3.
std::vector<NewField> regrouped_fp8(const FoundScaler& state, TeRelease release);

}  // namespace tare
