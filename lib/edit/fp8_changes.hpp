// New elements of the fields of FP8 state, gathered until all are known.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "lib/dialect/fp8_slots.hpp"
#include "lib/edit/fp8_values.hpp"

namespace tare {

/// The fields that change, each with all its new elements.
class Fp8Changes {
 public:
  void set(const Field& field, const NewElement& element);
  std::vector<NewField> take() &&;

 private:
  std::vector<NewField> fields_;
  std::map<const Field*, std::size_t> numbers_;
};

/// One scale in both of its forms.
struct NewScale {
  double multiplier = 1, stored = 1;
};

NewScale scale_from(const Fp8Slot& slot, double multiplier);

/// The multiplier that is left of a scale once the slot's field holds it.
double kept_multiplier(const Fp8Slot& slot, const NewScale& scale);

/// Its reciprocal goes along where there is one.
void set_scale(Fp8Changes& changes, const Fp8Slot& slot, const NewScale& scale);

/// Throws `refused` for what no value can be scaled with.
void require_scale(double multiplier);

/// Stored numbers mean other values with another scale. Throws `refused` where that multiplier is one.
void require_no_data(const FoundScaler& state, const Fp8Slot& slot, double multiplier);

}  // namespace tare
