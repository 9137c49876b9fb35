// tare's own state files, JSON and HDF5.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"

#include "lib/codec/hdf5.hpp"
#include "lib/codec/json.hpp"
#include "lib/state/named_state.hpp"

namespace tare {

struct StateFileOptions {
  std::optional<JsonShape> shape = std::nullopt;          ///< of JSON; tare's own if not given
  std::optional<Compression> compression = std::nullopt;  ///< of HDF5; gzip if not given: any reader has it
};

/// {"shape": "tare"|"lerobot", "compression": "none"|"gzip"|"zstd"}; empty text or null: the defaults. Throws
/// `invalid_argument` for anything else.
StateFileOptions parse_state_file_options(const char* text);

/// Does the name say that a state in it is HDF5: .h5, .hdf5?
bool is_hdf5_name(std::string_view path);

/// What write_state_file puts into a file of that format: ".json", ".h5" or ".hdf5"; `name` is for messages. Throws
/// `invalid_argument` for another one, and for an option of the other format.
Bytes state_file_bytes(const ScalerState& state, std::string_view name, const StateFileOptions& options);
/// Either kind, by content. Throws `corrupt`, `unsupported` or `mismatch`.
LoadedState state_from_bytes(ByteView bytes, const std::string& name);

/// Reads either kind, by content. Throws `io`, `corrupt`, `unsupported` or `mismatch`.
LoadedState read_state_file(const std::string& path);

/// The FP8 state in a file of one state or several. Throws as read_state_file does, and `refused` where several hold
/// none, or more than one.
LoadedState read_fp8_state_file(const std::string& path);

/// Several states, or a single one without a name. Throws as read_state_file does.
std::vector<NamedState> read_states_file(const std::string& path);
std::vector<NamedState> read_states_file(const std::shared_ptr<const Source>& file);

/// Several states, or few or one, with their paths. Throws `invalid_argument` for another ending than a state file's.
void write_states_file(std::span<const NamedState> states, const std::string& path);

/// All of `states`: a single one as write_state_file does, several as write_states_file does.
void write_state_files(std::span<const NamedState> states, const std::string& path);

/// By the path's ending: .json, .h5 or .hdf5. The file appears whole or not at all. Throws `invalid_argument` for
/// another ending, and for an option of the other format.
void write_state_file(const ScalerState& state, const std::string& path, const StateFileOptions& options);

}  // namespace tare
