// The configuration of FP8 slots: JSON with the keys of their state, and where they are kept.
#pragma once

#include "lib/state/fp8_set.hpp"

namespace tare {

struct Fp8Config {
  Fp8Set start;
  int cuda_device = -1;  ///< below 0: the CPU
  unsigned threads = 1;  ///< that cast on the CPU, the caller's among them
};

/// Throws `invalid_argument` and names the allowed keys or range.
Fp8Config parse_fp8_config(const char* json);

/// From where `state` stands; the configuration (null: none) says where it is kept, perhaps how long histories are to
/// be (lib/state/fp8_history), and nothing else.
Fp8Config parse_fp8_config(const char* json, const ScalerState& state);

/// Every policy with its parameters, ranges and fields as JSON "tare.fp8_policies/1".
std::string fp8_policies_json();

}  // namespace tare
