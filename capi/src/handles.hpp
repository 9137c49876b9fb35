// What stands behind the opaque types.
#pragma once

#include <tare/tare.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/finding.hpp"
#include "lib/base/text.hpp"
#include "lib/scaler/fp8_scaler.hpp"
#include "lib/scaler/scaler.hpp"
#include "lib/state/named_state.hpp"

struct tare_scaler {
  std::unique_ptr<tare::LossScaler> scaler;
};

struct tare_grads {
  std::unique_ptr<tare::Grads> grads;
};

struct tare_fp8 {
  std::unique_ptr<tare::Fp8Scaler> slots;
};

struct tare_state {
  tare::ScalerState state;
  std::vector<tare::Finding> findings = {};  ///< of the file that it was read from
};

struct tare_states {
  std::vector<tare::NamedState> states;
  std::set<std::string> names;

  /// Throws `refused` for a name that is there.
  void add(tare::NamedState state) {
    if (!names.insert(state.path).second) {
      throw tare::Error(tare::Status::refused, "there is a state \"" + tare::escaped(state.path) + "\" already",
                        "Each needs a name of its own.");
    }
    states.push_back(std::move(state));
  }
};

struct tare_text {
  std::string text;
};

namespace tare::capi {

inline tare_text* new_text(std::string text) {
  return new tare_text{std::move(text)};
}

/// The caller's descriptors as the kernels' own: the same 24 bytes. Throws `invalid_argument` for a null list with a
/// count, and for a count beyond the address space.
std::span<const kernels::Tensor> tensors_of(const tare_tensor* tensors, uint64_t count);

}  // namespace tare::capi
