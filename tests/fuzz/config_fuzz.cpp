// Any text as a scaler's configuration: refused clearly, or a scaler that runs and saves.
#include <cstdint>
#include <string>

#include "lib/base/error.hpp"
#include "lib/collective/mpi_communicator.hpp"
#include "lib/scaler/quantizer.hpp"
#include "lib/scaler/scaler.hpp"

using namespace tare;

namespace {

/// What a comm is made by: refused clearly, or taken.
template <class Parse>
void try_options(const Parse& parse, const std::string& text) {
  try {
    parse(text.c_str());
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_options(parse_mpi_config, text);
  try_options(parse_reduction_options, text);
  try_options(parse_quantizer_config, text);
  try {
    ScalerConfig config = parse_config(text.c_str());
    config.threads = 1;
    const auto scaler = make_scaler(config);
    for (const bool overflow : {false, true, false}) {
      scaler->report_overflow(overflow, nullptr);
      scaler->update(nullptr);
    }
    scaler->load(scaler->save(nullptr), nullptr);
  } catch (const Error&) {
    // A refusal, or a rule that raises, is an answer.
  }
  return 0;
}
