// The amax history of one FP8 slot, kept so that a step costs the same however long it is. Every framework shifts its
// array by one each step; here the entries stay where they are, in a ring, and the oldest is overwritten. The greatest
// of all is found from the greatest of each 32, of which a step changes one. Amaxes are the bits of floats, compared as
// integers: NaN above infinity above the rest.
//
//   framework's index   0            1, 2 ... L - 1
//   TransformerEngine   in progress  oldest first     (L - 1 in the ring)
//   MS-AMP              in progress  newest first     (L - 1 in the ring)
//   flax, Keras         newest       oldest first     (L in the ring, nothing in progress)
//   torchao             newest       newest first     (L in the ring, nothing in progress)
#pragma once

#include <cstdint>

#include "kernels/dtype.hpp"
#include "kernels/host_device.hpp"

namespace tare::kernels::fp8 {

inline constexpr std::uint32_t group = 32;  ///< entries of the ring that share a maximum

enum class Layout : std::int32_t { transformer_engine, msamp, flax, torchao };

/// How the histories of a set of slots lie in memory; all slots of a set are of one length.
struct WindowShape {
  Layout layout;
  std::uint32_t length;  ///< L, 1 at least

  /// Whether the framework's index 0 is the amax in progress.
  TARE_HD bool in_progress() const { return layout == Layout::transformer_engine || layout == Layout::msamp; }
  TARE_HD std::uint32_t ring() const { return in_progress() ? length - 1 : length; }
  /// Room for the ring and for the groups' maxima of one slot: whole groups of groups, zeros behind the end.
  TARE_HD std::uint32_t ring_stride() const { return (ring() + group - 1) / group * group; }
  TARE_HD std::uint32_t group_stride() const { return (ring_stride() / group + group - 1) / group * group; }
};

/// Where the framework's entry `index` (1 to L - 1; 0 where nothing is in progress) is in a ring whose oldest entry is
/// at `oldest`.
TARE_HD inline std::uint32_t ring_index(const WindowShape& shape, std::uint32_t index, std::uint32_t oldest) {
  const std::uint32_t ring = shape.ring();
  if (shape.layout == Layout::msamp) return (oldest + ring - index) % ring;
  if (shape.layout == Layout::torchao) return (oldest + ring - 1 - index) % ring;
  if (shape.layout == Layout::flax && index == 0) return (oldest + ring - 1) % ring;
  return (oldest + index - 1) % ring;
}

}  // namespace tare::kernels::fp8
