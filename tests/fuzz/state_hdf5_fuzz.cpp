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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
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
