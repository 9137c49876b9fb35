// Any text as a state: what is read comes out as text that reads back the same, and runs where its policy is known.
#include <cstdint>
#include <cstdlib>

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/scaler.hpp"

using namespace tare;

namespace {

void run(const ScalerState& state) {
  try {
    const auto scaler = make_scaler(parse_config(nullptr, state));
    for (const bool overflow : {true, false, false}) {
      scaler->report_overflow(overflow, nullptr);
      scaler->update(nullptr);
    }
    scaler->load(scaler->save(nullptr), nullptr);
  } catch (const Error&) {
    // A refusal, or a rule that raises, is an answer.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ScalerState state;
  try {
    state = state_from_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const Error&) {
    return 0;
  }
  const std::string text = state_to_json(state);
  if (state_to_json(state_from_json(text, "again")) != text) std::abort();
  run(state);
  return 0;
}
