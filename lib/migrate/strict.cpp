#include "lib/migrate/strict.hpp"

#include "lib/base/error.hpp"

namespace tare {

void require_lossless(const Conversion& conversion) {
  for (const ConvertedValue& value : conversion.values) {
    if (value.outcome != Outcome::lost) continue;
    throw Error(Status::refused, "strict: " + value.source_key + " would be lost: " + value.why,
                "if it is not to be strict, it is left behind, and said so");
  }
  if (!conversion.divergence) return;
  throw Error(Status::refused, "strict: the two rules part: " + sentence(*conversion.divergence),
              "if it is not to be strict, that is said, and the state carried");
}

}  // namespace tare
