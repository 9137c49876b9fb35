// FP8 state that takes the place of what a checkpoint's layers hold, tensor by tensor.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/keyed_hash.hpp"
#include "lib/edit/fp8_values.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {

class IncomingFp8 {
 public:
  /// `state` is of the policy of the layers that it goes into, its slots have their names (LAYER/TENSOR; in a state of
  /// tare's own the slots'). Throws as start_fp8_from does.
  explicit IncomingFp8(const ScalerState& state);

  /// Not copied: names are looked up where they stand.
  IncomingFp8(const IncomingFp8&) = delete;
  IncomingFp8& operator=(const IncomingFp8&) = delete;

  /// Scales, histories and counters of the layer's tensors that there are; nothing of the others. Throws `refused`
  /// where histories are of another length, or (unless `force`) a scale is of no use, or tensors of the file were
  /// quantised with it.
  [[nodiscard]] std::vector<NewField> fields_of(const FoundScaler& layer, const Fp8Choice& choice, bool force) const;

 private:
  [[nodiscard]] float newest_of(std::size_t slot, std::span<const float> history, AgeOrder order) const;
  [[nodiscard]] std::vector<NewField> own_fields(const FoundScaler& state, const Fp8Choice& choice, bool force) const;

  ScalerState state_;
  Fp8Set set_;
  std::unordered_map<std::string_view, std::size_t, KeyedHash> slots_;  ///< by name
};

}  // namespace tare
