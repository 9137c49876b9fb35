// The state as an HDF5 file: written through libtare_hdf5.so, opened on first use, so that whoever loads libtare does
// not get libhdf5 and its forty libraries with it; read by lib/hdf5, whoever wrote it last.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/finding.hpp"
#include "lib/base/source.hpp"
#include "lib/state/named_state.hpp"
#include "lib/state/scaler_state.hpp"

namespace tare {

enum class Compression { none, gzip, zstd };

/// Gets a whole file: pieces that stand one behind the other, and lie there while it is called.
using TakePieces = std::function<void(std::span<const ByteView>)>;

/// Calls `take` once. What is not compressed is not copied: its pieces are the state's own values. Throws `unsupported`
/// where the module is not there or of another release, and for a state that HDF5 cannot hold; and what `take` throws.
void write_hdf5(const ScalerState& state, Compression compression, const TakePieces& take);
/// Several, each with its path.
void write_hdf5(std::span<const NamedState> states, Compression compression, const TakePieces& take);
/// The same in one buffer.
Bytes state_to_hdf5(const ScalerState& state, Compression compression);
Bytes states_to_hdf5(std::span<const NamedState> states, Compression compression);

/// Puts in the checksum where there is a place for it, after the module wrote the file. Throws `internal` where there
/// is none. REQUIRES: the first piece, `head`, is as long as attribute_checksum_head_bytes, or all.
void put_hdf5_checksum(Bytes& head, std::span<const ByteView> behind);

/// A state out of a file, and what whoever reads it should know.
struct LoadedState {
  ScalerState state;
  std::vector<Finding> findings = {};
};

struct LoadedStates {
  std::vector<NamedState> states;
  std::vector<Finding> findings = {};
};

/// Of any HDF5 with a state's attributes and groups. Where it has no checksum, or one that is not the file's, a finding
/// says so: another program wrote or changed it, or it is damaged in a way that cannot be seen. Throws as
/// state_from_json does.
LoadedState state_from_hdf5(const std::shared_ptr<const Source>& source);
/// Of a file of several states, or of one, whose path is then empty.
LoadedStates states_from_hdf5(const std::shared_ptr<const Source>& source);

}  // namespace tare
