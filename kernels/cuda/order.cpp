#include "kernels/cuda/order.hpp"

namespace tare::kernels::cuda {
namespace {

/// Never given out again, as a handle may be.
unsigned long long number_of(cudaStream_t stream) {
#if CUDART_VERSION >= 12000
  unsigned long long number = 0;
  check(cudaStreamGetId(stream, &number), "ask for a stream's number");
  return number;
#else
  return reinterpret_cast<unsigned long long>(stream);
#endif
}

}  // namespace

Order::Order(const Device& device) {
  const OnDevice here(device.ordinal());
  check(cudaEventCreateWithFlags(&last_, cudaEventDisableTiming), "make an event");
}

Order::~Order() {
  cudaEventDestroy(last_);
}

void Order::wait(cudaStream_t stream) const {
  if (!has_last_ || number_of(stream) == stream_) return;
  check(cudaStreamWaitEvent(stream, last_, 0), "wait for another stream");
}

void Order::note(cudaStream_t stream) {
  check(cudaEventRecord(last_, stream), "record an event");
  stream_ = number_of(stream);
  has_last_ = true;
}

void Order::note_quietly(cudaStream_t stream) noexcept {
  try {
    note(stream);
  } catch (const Failure&) {  // the error that is under way says more
  }
}

}  // namespace tare::kernels::cuda
