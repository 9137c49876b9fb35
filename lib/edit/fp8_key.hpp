// The keys of FP8 state: scale.TENSOR, amax_history.TENSOR, and the native names of its fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/dialect/fp8_slots.hpp"

namespace tare {

/// WHAT.TENSOR: `scale` or `amax_history`, and a slot's role, in which * and ? are wildcards; or a field's native name.
struct Fp8Key {
  enum class What : std::uint8_t { scale, history, native };

  What what = What::native;
  std::string name;  ///< of the tensor, or the field
};

/// Nothing where `key` is no WHAT.TENSOR.
std::optional<Fp8Key> parse_fp8_key(std::string_view key);

/// As parse_fp8_key, or the native name of a field of that state, with or without `native:` in front. Throws
/// `invalid_argument` for what is neither.
Fp8Key fp8_key_of(const FoundScaler& state, std::string_view key);

/// Whether a key is meant for FP8 state: each is where layers are chosen, a native name where no loss scaler has it.
bool is_fp8_key(const Checkpoint& checkpoint, const std::string& key, bool has_layers);

/// Whether `name` means the slot: by its role, or, where layers are chosen, by its name within its layer.
bool is_tensor(const FoundScaler& state, const Fp8Choice& choice, const Fp8Slot& slot, const std::string& name);

/// What the key means in that state: a multiplier or an amax history, or a field as it is stored. Throws `refused`
/// where that is not the value of one tensor.
Value fp8_value(const FoundScaler& state, const Fp8Key& key, const Fp8Choice& choice = {});

}  // namespace tare
