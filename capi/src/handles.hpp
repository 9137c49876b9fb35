// What stands behind the opaque types.
#pragma once

#include <tare/tare.h>

#include <memory>
#include <string>

#include "lib/scaler/fp8_scaler.hpp"
#include "lib/scaler/scaler.hpp"

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
