#include "lib/container/pickle/read/frame_watch.hpp"

namespace tare {

bool FrameWatch::takes(const PickleSteps::Step& step, PickleSteps& steps) {
  const bool is_inside = step.begin < end_;
  if (is_inside && step.end > end_) return false;
  if (step.code != Opcode::frame) return true;
  if (is_inside) return false;
  const std::string length = steps.argument(step, sizeof(std::uint64_t));
  const auto bytes = load_le<std::uint64_t>(as_bytes(length).data());
  // A frame beyond the end: the one in C gives up, the one in Python reads what there is.
  is_cut_ = is_cut_ || bytes > size_ - step.end;
  end_ = bytes > size_ - step.end ? size_ : step.end + bytes;
  return true;
}

}  // namespace tare
