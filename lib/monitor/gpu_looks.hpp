// What is looked at on GPUs; what they saw is read once they have it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/launch.hpp"
#include "kernels/scaler_core.hpp"
#include "lib/monitor/observed.hpp"
#include "lib/scaler/scaler.hpp"

namespace tare::monitor {

/// The looks of one step, whose tensors and gradients are there already, with nothing seen. None waits, once earlier
/// steps have been of this size. Throws what the backend reports.
class GpuLooks {
 public:
  /// At tensors of the GPU with that number; the first one's place in the step is `place`.
  void add(int gpu, std::span<const kernels::Tensor> tensors, const kernels::BorneScale& scale, kernels::Stream stream,
           std::size_t place);
  /// At what the last pass of a list found, likewise, and at its scaler, unless one is added later.
  void add(Grads& grads, kernels::Stream stream, std::size_t place);
  /// At a scaler of somebody else's.
  void add(int gpu, const kernels::ScalerPlaces& places, kernels::Stream stream);
  /// The step has its scaler: no look sets it.
  void keep_scaler();

  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool are_done() const;
  /// Waits, writes what was seen and is empty, even where the backend fails.
  void read(ObservedStep& into);
  /// Waits, and is empty.
  void forget();

 private:
  struct End {
    void operator()(tare_backend_looks* looks) const;
  };
  enum class Kind { tensors, list, scaler };
  struct Look {
    Kind kind;
    std::size_t place;
    std::size_t count;
    bool sets_scaler;
    bool counts_finite;
  };
  struct Gpu {
    int number = 0;
    std::unique_ptr<tare_backend_looks, End> looks;
    std::vector<Look> added;
  };
  struct Seen;

  /// With room for a look more.
  Gpu& gpu_of(int number);
  static void read_from(Gpu& gpu, ObservedStep& into);

  std::vector<Gpu> gpus_;
};

}  // namespace tare::monitor
