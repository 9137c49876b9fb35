#include "lib/monitor/gpu_looks.hpp"

#include <algorithm>

#include "lib/device/backend.hpp"

namespace tare::monitor {

void GpuLooks::End::operator()(tare_backend_looks* looks) const {
  cuda_backend().looks_end(looks);
}

GpuLooks::Gpu& GpuLooks::gpu_of(int number) {
  const auto known = std::ranges::find(gpus_, number, &Gpu::number);
  if (known != gpus_.end()) return *known;
  tare_backend_looks* made = nullptr;
  call(cuda_backend().looks_make, &made, number);
  Gpu gpu;
  gpu.number = number;
  gpu.looks.reset(made);
  gpus_.push_back(std::move(gpu));
  return gpus_.back();
}

void GpuLooks::add(int gpu, std::span<const kernels::Tensor> tensors, double scale, kernels::Stream stream,
                   std::size_t place) {
  Gpu& on = gpu_of(gpu);
  on.places.reserve(on.places.size() + tensors.size());
  call(cuda_backend().looks_add, on.looks.get(), tensors.data(), tensors.size(), scale, stream);
  for (std::size_t i = 0; i < tensors.size(); ++i) on.places.push_back(place + i);
}

bool GpuLooks::is_empty() const {
  return std::ranges::all_of(gpus_, [](const Gpu& gpu) { return gpu.places.empty(); });
}

bool GpuLooks::are_done() const {
  return std::ranges::all_of(gpus_, [](const Gpu& gpu) {
    std::int32_t done = 1;
    if (!gpu.places.empty()) call(cuda_backend().looks_ask, gpu.looks.get(), &done);
    return done != 0;
  });
}

void GpuLooks::read(std::span<Observed> into) {
  for (Gpu& gpu : gpus_) {
    if (gpu.places.empty()) continue;
    std::vector<Summary> found(gpu.places.size());
    try {
      call(cuda_backend().looks_read, gpu.looks.get(), found.data());
    } catch (...) {
      forget();
      throw;
    }
    for (std::size_t i = 0; i < found.size(); ++i) into[gpu.places[i]].summary = found[i];
    gpu.places.clear();
  }
}

void GpuLooks::forget() {
  gpus_.clear();
}

}  // namespace tare::monitor
