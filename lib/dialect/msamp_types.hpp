// The largest numbers of the types that MS-AMP scales tensors to.
#pragma once

#include <optional>
#include <string_view>

namespace tare {

/// Of a qtype by its name; nothing for one that is unknown. Source: MS-AMP 0.4.0, msamp/common/dtype/floating.py.
std::optional<double> msamp_largest(std::string_view qtype);

}  // namespace tare
