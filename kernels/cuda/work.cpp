#include "kernels/cuda/work.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/small_kernels.hpp"

namespace tare::kernels::cuda {
namespace {

bool same_place(const Tensor& a, const Tensor& b) {
  return a.data == b.data && a.dtype == b.dtype;
}

}  // namespace

DeviceWork::DeviceWork(const Device& device) : device_(device) {
  const OnDevice here(device.ordinal());
  check(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming), "make an event");
}

DeviceWork::~DeviceWork() {
  if (uploaded_ != nullptr) cudaEventDestroy(uploaded_);
}

void DeviceWork::assign(std::span<const Tensor> tensors, cudaStream_t stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "ask whether the stream is captured");
  if (capture != cudaStreamCaptureStatusNone) {
    throw Failure("a list of other counts or dtypes cannot be made ready while its stream is captured",
                  cudaErrorStreamCaptureUnsupported);
  }
  outputs_.clear();
  try {
    list_.assign(tensors);
    pieces_.reserve(list_.pieces().size());
    tensor_pieces_.reserve(tensors.size());
    inputs_.reserve(tensors.size());
    output_bindings_.reserve(tensors.size());
    outputs_.reserve(tensors.size());
    upload(stream);
    bind(inputs_.data(), tensors, stream);
  } catch (...) {
    list_.assign({});
    throw;
  }
}

/// The tables that only depend on counts and dtypes, through memory that the copy engine can read on its own.
void DeviceWork::upload(cudaStream_t stream) {
  const std::size_t pieces = list_.pieces().size_bytes();
  const std::size_t tensors = list_.tensor_pieces().size_bytes();
  if (tensors == 0) return;
  check(cudaEventSynchronize(uploaded_), "wait for the last upload");
  staged_.reserve(pieces + tensors);
  if (pieces != 0) std::memcpy(staged_.data(), list_.pieces().data(), pieces);
  std::memcpy(staged_.data() + pieces, list_.tensor_pieces().data(), tensors);
  const auto copy = [&](void* to, std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, staged_.data() + offset, bytes, cudaMemcpyHostToDevice, stream), "upload a list");
  };
  copy(pieces_.data(), 0, pieces);
  copy(tensor_pieces_.data(), pieces, tensors);
  check(cudaEventRecord(uploaded_, stream), "record an event");
}

void DeviceWork::bind(Binding* to, std::span<const Tensor> tensors, cudaStream_t stream) {
  BindArguments batch;
  for (std::size_t first = 0; first < tensors.size(); first += kMostBindings) {
    const std::size_t count = std::min<std::size_t>(kMostBindings, tensors.size() - first);
    batch.to = to + first;
    batch.count = static_cast<std::uint32_t>(count);
    for (std::size_t i = 0; i < count; ++i) batch.bindings[i] = binding_of(tensors[first + i]);
    device_.launch(bind_kernel(), static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, &batch, stream);
  }
}

bool DeviceWork::rebind(std::span<const Tensor> tensors, cudaStream_t stream) {
  const std::span<const Tensor> bound = list_.tensors();
  const bool moved = !std::ranges::equal(bound, tensors, same_place);
  if (!list_.rebind(tensors)) return false;
  if (!moved) return true;
  bind(inputs_.data(), tensors, stream);
  return true;
}

void DeviceWork::bind_outputs(const Tensor* outputs, cudaStream_t stream) {
  const std::span<const Tensor> wanted(outputs, list_.tensors().size());
  if (std::ranges::equal(wanted, outputs_, same_place)) return;
  bind(output_bindings_.data(), wanted, stream);
  outputs_.assign(wanted.begin(), wanted.end());  // within what assign reserved
}

}  // namespace tare::kernels::cuda
