// Any bytes as a state's HDF5: what is read is written and read again as the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/json.hpp"

using namespace tare;

namespace {

constexpr std::uint64_t most_items = 4096;

bool is_small(const StateSection& section) {
  return std::all_of(section.begin(), section.end(), [](const auto& entry) {
    const auto* array = std::get_if<StateArray>(&entry.value);
    return array == nullptr || std::visit([](const auto& items) { return items.size() <= most_items; }, array->values);
  });
}

ScalerState read(ByteView bytes) {
  return state_from_hdf5(std::make_shared<MemorySource>("fuzz", Bytes(bytes.begin(), bytes.end()))).state;
}

/// Bytes, since nan is not equal to itself. Nothing for what HDF5 cannot hold.
Bytes written(const ScalerState& state) {
  try {
    return state_to_hdf5(state, Compression::none);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

/// A file of several is written again as it was read.
void read_several(ByteView bytes) {
  const auto read_all = [](ByteView file) {
    return states_from_hdf5(std::make_shared<MemorySource>("fuzz", Bytes(file.begin(), file.end()))).states;
  };
  try {
    const std::vector<NamedState> states = read_all(bytes);
    const auto is_large = [](const NamedState& named) {
      const ScalerState& state = named.state;
      return !is_small(state.params) || !is_small(state.fields) || !is_small(state.statistics) ||
             !is_small(state.other);
    };
    if (states.size() > most_items || std::ranges::any_of(states, is_large)) return;
    const Bytes image = states_to_hdf5(states, Compression::none);
    if (states_to_hdf5(read_all(image), Compression::none) != image) std::abort();
  } catch (const Error&) {
    return;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  read_several(bytes);
  ScalerState state;
  try {
    state = read(bytes);
  } catch (const Error&) {
    return 0;
  }
  for (const StateSection* section : {&state.params, &state.fields, &state.statistics, &state.other}) {
    if (!is_small(*section)) return 0;
  }
  try {
    state_to_json(state);
  } catch (const Error&) {
    // Too big, even with few items.
  }
  const Bytes image = written(state);
  if (!image.empty() && written(read(image)) != image) std::abort();
  return 0;
}
