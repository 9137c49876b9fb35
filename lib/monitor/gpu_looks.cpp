#include "lib/monitor/gpu_looks.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/device/backend.hpp"

namespace tare::monitor {

void GpuLooks::End::operator()(tare_backend_looks* looks) const {
  cuda_backend().looks_end(looks);
}

GpuLooks::Gpu& GpuLooks::gpu_of(int number) {
  auto known = std::ranges::find(gpus_, number, &Gpu::number);
  if (known == gpus_.end()) {
    tare_backend_looks* made = nullptr;
    call(cuda_backend().looks_make, &made, number);
    Gpu gpu;
    gpu.number = number;
    gpu.looks.reset(made);
    gpus_.push_back(std::move(gpu));
    known = gpus_.end() - 1;
  }
  known->added.reserve(known->added.size() + 1);
  return *known;
}

void GpuLooks::add(int gpu, std::span<const kernels::Tensor> tensors, const kernels::BorneScale& scale,
                   kernels::Stream stream, std::size_t place) {
  Gpu& on = gpu_of(gpu);
  call(cuda_backend().looks_add, on.looks.get(), tensors.data(), tensors.size(), &scale, stream);
  on.added.push_back({Kind::tensors, place, tensors.size(), false, false});
}

void GpuLooks::add(Grads& grads, kernels::Stream stream, std::size_t place) {
  Gpu& on = gpu_of(grads.scaler().cuda_device());
  call(cuda_backend().looks_add_list, on.looks.get(), grads.backend_list(), stream);
  keep_scaler();
  on.added.push_back({Kind::list, place, grads.tensors().size(), true, grads.counts_finite()});
}

void GpuLooks::add(int gpu, const kernels::ScalerPlaces& places, kernels::Stream stream) {
  Gpu& on = gpu_of(gpu);
  call(cuda_backend().looks_add_scaler, on.looks.get(), &places, stream);
  keep_scaler();
  on.added.push_back({Kind::scaler, 0, 0, true, false});
}

void GpuLooks::keep_scaler() {
  for (Gpu& gpu : gpus_) {
    for (Look& look : gpu.added) look.sets_scaler = false;
  }
}

bool GpuLooks::is_empty() const {
  return std::ranges::all_of(gpus_, [](const Gpu& gpu) { return gpu.added.empty(); });
}

bool GpuLooks::are_done() const {
  return std::ranges::all_of(gpus_, [](const Gpu& gpu) {
    std::int32_t done = 1;
    if (!gpu.added.empty()) call(cuda_backend().looks_ask, gpu.looks.get(), &done);
    return done != 0;
  });
}

/// What one look saw.
struct GpuLooks::Seen {
  std::vector<Summary> summaries;
  std::vector<kernels::Statistics> statistics;
  std::vector<kernels::FiniteValues> finite;
  kernels::ListCore list;
  kernels::ScalerCore scaler;
  kernels::ScalerStanding standing;

  explicit Seen(const Look& look) {
    if (look.kind == Kind::tensors) summaries.resize(look.count);
    if (look.kind == Kind::list) statistics.resize(look.count);
    if (look.kind == Kind::list && look.counts_finite) finite.resize(look.count);
  }
  tare_backend_seen places(Kind kind) {
    switch (kind) {
      case Kind::tensors:
        return {
            .summaries = summaries.data(), .statistics = {}, .finite = {}, .list = {}, .scaler = {}, .standing = {}};
      case Kind::list:
        return {.summaries = {},
                .statistics = statistics.data(),
                .finite = finite.empty() ? nullptr : finite.data(),
                .list = &list,
                .scaler = &scaler,
                .standing = {}};
      case Kind::scaler:
        break;
    }
    return {.summaries = {}, .statistics = {}, .finite = {}, .list = {}, .scaler = {}, .standing = &standing};
  }
  void write(const Look& look, ObservedStep& into) const {
    for (std::size_t i = 0; i < summaries.size(); ++i) into.tensors[look.place + i].summary = summaries[i];
    const bool had_pass = list.seen.count != 0;
    for (std::size_t i = 0; had_pass && i < statistics.size(); ++i) {
      into.gradients[look.place + i].seen = statistics[i];
      if (!finite.empty()) into.gradients[look.place + i].finite = finite[i];
    }
    if (!look.sets_scaler) return;
    if (look.kind == Kind::list) {
      const rule::Counters& counted = scaler.running.counters;
      into.scaler = {rule::scale_of(scaler.running.policy.id, scaler.running.state), counted.steps, counted.skipped,
                     counted.growths, counted.backoffs};
    } else {
      into.scaler = {standing.scale, standing.steps, standing.skipped, standing.growths, standing.backoffs};
    }
  }
};

void GpuLooks::read_from(Gpu& gpu, ObservedStep& into) {
  std::vector<Seen> seen;
  std::vector<tare_backend_seen> places;
  seen.reserve(gpu.added.size());
  places.reserve(gpu.added.size());
  for (const Look& look : gpu.added) places.push_back(seen.emplace_back(look).places(look.kind));
  call(cuda_backend().looks_read, gpu.looks.get(), places.data());
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i].write(gpu.added[i], into);
  gpu.added.clear();
}

void GpuLooks::read(ObservedStep& into) {
  try {
    for (Gpu& gpu : gpus_) {
      if (!gpu.added.empty()) read_from(gpu, into);
    }
  } catch (const Error&) {
    forget();
    throw;
  }
}

void GpuLooks::forget() {
  gpus_.clear();
}

}  // namespace tare::monitor
