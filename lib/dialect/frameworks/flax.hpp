// What Keras' float8 layers took over from flax.
#pragma once

namespace tare {

/// The scale, a divisor, that flax's rule makes of an amax: see NextScale.
float flax_next_scale(float stored, float amax, float fp8_max, float two_to_margin);

}  // namespace tare
