// How TransformerEngine 2.18 and newer takes a module's `_extra_state`: by its opcodes, before anything of it is
// loaded. transformer_engine 2.20: pytorch/_extra_state.py, _classify_extra_state_pickle.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/bytes.hpp"

namespace tare {

struct ExtraStateFate {
  bool refused = false;  ///< unless NVTE_ALLOW_UNSAFE_PICKLE_EXTRA_STATE=1 says to trust it blindly; else it is ignored
  std::string why;
};

/// Whether a key of a state dict is that of extra state: `layer._extra_state`, `_extra_state1`,
/// `layer._extra_state/shard_0_4`.
bool is_extra_state_key(std::string_view key);

/// Of the bytes in its uint8 tensor.
ExtraStateFate fate_of_pickle(ByteView pickle);
/// Of an io.BytesIO, as TransformerEngine before 2.0 writes it.
ExtraStateFate fate_of_stream();

}  // namespace tare
