// Streams, events and captures over a host's queue of functions. Work runs only when somebody waits for it, stream by
// stream: what nothing puts in order comes in the worst one.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <mutex>

namespace tare::kernels::test {

using Work = std::function<void()>;

/// Held through every call of the simulated runtime.
std::recursive_mutex& runtime_lock();

/// Puts work at a stream's end, or into the graph that it is captured into.
cudaError_t enqueue(cudaStream_t stream, Work work);
/// What a stream does not go past before it is true, asked again whenever other streams have gone on.
using Gate = std::function<bool()>;
/// Puts a gate at a stream's end, or into a graph: a new one each time that it is to be passed.
cudaError_t enqueue_gate(cudaStream_t stream, std::function<Gate()> make);
/// Runs all that stands in a stream, and what that waits for.
void finish(cudaStream_t stream);
void finish_all();

bool is_captured(cudaStream_t stream);
/// For what a captured stream cannot take: its capture is lost. Returns what the call answers.
cudaError_t spoil(cudaStream_t stream);
/// For calls that are unsafe while anything is captured (cudaMalloc ...): captures that the thread's mode does not let
/// them pass by are lost. Returns what the call answers: cudaSuccess where there are none.
cudaError_t pass_by_captures();

}  // namespace tare::kernels::test
