// Calls in order, whatever streams they come on.
#pragma once

#include "kernels/cuda/device.hpp"

namespace tare::kernels::cuda {

/// The order of what is done on a GPU with a thing that has one state: what is enqueued on another stream than the last
/// one waits for that. What is captured runs later, when only the caller knows, and stays out: a graph is put in order
/// with other calls by whoever replays it. Throws Failures.
class Order {
 public:
  explicit Order(const Device& device);
  ~Order();
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

  /// `enqueue` is given the capture that the stream is part of.
  template <class Enqueue>
  void take_turn(cudaStream_t stream, const Enqueue& enqueue) {
    const Capture capture = capture_of(stream);
    if (capture != no_capture) return enqueue(capture);
    wait(stream);
    try {
      enqueue(capture);
    } catch (...) {
      note_quietly(stream);  // some of it may be on its way
      throw;
    }
    note(stream);
  }
  /// The stream waits for the last turn. May be called by several threads while nobody takes a turn.
  void wait(cudaStream_t stream) const;

 private:
  void note(cudaStream_t stream);
  void note_quietly(cudaStream_t stream) noexcept;

  cudaEvent_t last_ = nullptr;     // behind the last turn
  unsigned long long stream_ = 0;  // its stream's number
  bool has_last_ = false;
};

}  // namespace tare::kernels::cuda
