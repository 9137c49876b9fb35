// The frames that a pickle opens, and whether its reads keep to them.
#pragma once

#include <cstdint>

#include "lib/container/pickle/read/steps.hpp"

namespace tare {

class FrameWatch {
 public:
  /// Of a pickle in a source of `size` bytes.
  explicit FrameWatch(std::uint64_t size) : size_(size) {}

  /// Whether all unpicklers take this step alike.
  bool takes(const PickleSteps::Step& step, PickleSteps& steps);
  /// Whether a frame passed the end.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  std::uint64_t size_;
  std::uint64_t end_ = 0;
  bool is_cut_ = false;
};

}  // namespace tare
