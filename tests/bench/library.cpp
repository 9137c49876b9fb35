// What a training loop and a checkpoint take beside the passes: a step of the rule through the C ABI, and states as
// HDF5 files.
//
//   bench_library FOLDER [runs]                       defaults: 31 runs; files go to FOLDER
#include <tare/tare.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kernels/dtype.hpp"
#include "lib/codec/state_file.hpp"
#include "tests/bench/rows.hpp"

namespace {

using namespace tare;

void updates(std::size_t runs) {
  for (const char* policy : {"torch", "megatron", "deepspeed", "mindformers_adaptive"}) {
    tare_scaler* scaler = nullptr;
    // No growth: after millions of clean steps there would be scales that no float holds.
    const std::string config = std::string("{\"policy\":\"") + policy + "\",\"growth_interval\":1000000000}";
    if (tare_scaler_create(&scaler, config.c_str(), nullptr) != TARE_OK) std::exit(1);
    int32_t failed = 0;
    const std::string what = std::string("report_overflow and update, ") + policy;
    bench::measure(what.c_str(), runs, 20000, 0, 100e-9, [&] {
      failed |= tare_scaler_report_overflow(scaler, 0, nullptr, nullptr);
      failed |= tare_scaler_update(scaler, nullptr, nullptr);
    });
    tare_scaler_destroy(scaler);
    if (failed != 0) std::exit(1);
  }
}

/// Greatest magnitudes of bf16 tensors: as many bits as those have.
std::vector<float> amaxima(std::size_t count) {
  std::vector<float> values(count);
  std::uint32_t random = 1;
  for (float& value : values) {
    random = random * 1664525u + 1013904223u;
    const auto plain = 1.0f + static_cast<float>(random >> 16) / 16384.0f;
    value = widen<Bf16>(narrow<Bf16>(plain));
  }
  return values;
}

void hdf5(const std::string& folder, std::size_t runs) {
  constexpr std::size_t tensors = 10000;
  constexpr std::size_t length = 1024;
  ScalerState scales;
  scales.policy = "delayed_scaling";
  scales.fields.set("scale", StateArray{{tensors}, amaxima(tensors)});
  ScalerState histories = scales;
  histories.fields.set("amax_history", StateArray{{tensors, length}, amaxima(tensors * length)});
  const std::string small = folder + "/scales.h5";
  const std::string large = folder + "/histories.h5";
  constexpr double bytes = 4.0 * tensors * length;
  write_state_file(scales, small, {});
  bench::measure("10,000 scales out of a packed array, zstd", runs, 1, 4.0 * tensors, 1e-3,
                 [&] { read_state_file(small); });
  for (const auto& [name, how] :
       {std::pair{"zstd", Compression::zstd}, {"gzip", Compression::gzip}, {"none", Compression::none}}) {
    const std::size_t times = how == Compression::gzip ? 3 : runs;
    bench::measure((std::string("10,000 histories of 1,024 written, ") + name).c_str(), times, 1, bytes, 0,
                   [&, compression = how] { write_state_file(histories, large, {.compression = compression}); });
    std::printf("%-52s %9.2f times smaller than the values\n", "",
                bytes / static_cast<double>(std::filesystem::file_size(large)));
    bench::measure((std::string("10,000 histories of 1,024 read, ") + name).c_str(), times, 1, bytes, 0,
                   [&] { read_state_file(large); });
  }
  std::filesystem::remove(small);
  std::filesystem::remove(large);
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 2) return std::puts("usage: bench_library FOLDER [runs]"), 2;
  const std::size_t runs = count > 2 ? static_cast<std::size_t>(std::atoi(arguments[2])) : 31;
  updates(runs);
  hdf5(arguments[1], runs);
} catch (const std::exception& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
