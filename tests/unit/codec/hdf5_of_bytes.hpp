// A state out of bytes that are no file.
#pragma once

#include <memory>

#include "lib/codec/hdf5.hpp"

namespace tare {

inline LoadedState loaded_from(ByteView bytes) {
  return state_from_hdf5(std::make_shared<MemorySource>("x.h5", Bytes(bytes.begin(), bytes.end())));
}

/// REQUIRES: a state that tare vouches for.
inline ScalerState state_from(ByteView bytes) {
  LoadedState loaded = loaded_from(bytes);
  if (!loaded.findings.empty()) throw std::runtime_error(loaded.findings.front().message);
  return std::move(loaded.state);
}

}  // namespace tare
