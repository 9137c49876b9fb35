// Tensors on GPUs that are looked at there; what they are like is read once the GPUs have it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/launch.hpp"
#include "lib/monitor/observed.hpp"

namespace tare::monitor {

/// The looks of one step. Throws what the backend reports.
class GpuLooks {
 public:
  /// Enqueues a look at tensors of the GPU with that number, whose summaries will be those of the observed tensors from
  /// `place` on. Does not wait, once earlier steps have been of this size.
  void add(int gpu, std::span<const kernels::Tensor> tensors, double scale, kernels::Stream stream, std::size_t place);
  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool are_done() const;
  /// Waits, writes the summaries and is empty, even where the backend fails.
  void read(std::span<Observed> into);
  /// Waits, and is empty.
  void forget();

 private:
  struct End {
    void operator()(tare_backend_looks* looks) const;
  };
  struct Gpu {
    int number = 0;
    std::unique_ptr<tare_backend_looks, End> looks;
    std::vector<std::size_t> places;  ///< of what is being looked at
  };

  Gpu& gpu_of(int number);

  std::vector<Gpu> gpus_;
};

}  // namespace tare::monitor
