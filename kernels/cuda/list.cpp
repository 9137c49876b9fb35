#include "kernels/cuda/list.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace tare::kernels::cuda {
namespace {

bool same_place(const Tensor& a, const Tensor& b) {
  return a.data == b.data && a.dtype == b.dtype;
}

}  // namespace

DeviceList::DeviceList(DeviceScaler& scaler) : scaler_(scaler) {
  const OnDevice here(scaler_.device().ordinal());
  core_.reserve(1);
  const Core fresh = {};
  check(cudaMemcpy(core_.data(), &fresh, sizeof fresh, cudaMemcpyHostToDevice), "make a list");
  check(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming), "make an event");
}

DeviceList::~DeviceList() {
  if (uploaded_ != nullptr) cudaEventDestroy(uploaded_);
}

void DeviceList::assign(std::span<const Tensor> tensors, cudaStream_t stream) {
  const OnDevice here(scaler_.device().ordinal());
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "ask whether the stream is captured");
  if (capture != cudaStreamCaptureStatusNone) {
    throw Failure("a list of other counts or dtypes cannot be made ready while its stream is captured",
                  cudaErrorStreamCaptureUnsupported);
  }
  outputs_.clear();
  passed_ = false;
  try {
    work_.assign(tensors);
    pieces_.reserve(work_.pieces().size());
    found_.reserve(work_.pieces().size());
    tensor_pieces_.reserve(tensors.size());
    inputs_.reserve(tensors.size());
    output_bindings_.reserve(tensors.size());
    each_.reserve(tensors.size());
    outputs_.reserve(tensors.size());
    upload(stream);
    bind(inputs_.data(), tensors, stream);
  } catch (...) {
    work_.assign({});
    throw;
  }
}

/// The tables that only depend on counts and dtypes, through memory that the copy engine can read on its own.
void DeviceList::upload(cudaStream_t stream) {
  const std::size_t pieces = work_.pieces().size_bytes();
  const std::size_t tensors = work_.tensor_pieces().size_bytes();
  if (tensors == 0) return;
  check(cudaEventSynchronize(uploaded_), "wait for the last upload");
  staged_.reserve(pieces + tensors);
  std::memcpy(staged_.data(), work_.pieces().data(), pieces);
  std::memcpy(staged_.data() + pieces, work_.tensor_pieces().data(), tensors);
  const auto copy = [&](void* to, std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, staged_.data() + offset, bytes, cudaMemcpyHostToDevice, stream), "upload a list");
  };
  copy(pieces_.data(), 0, pieces);
  copy(tensor_pieces_.data(), pieces, tensors);
  check(cudaEventRecord(uploaded_, stream), "record an event");
}

void DeviceList::bind(Binding* to, std::span<const Tensor> tensors, cudaStream_t stream) {
  BindArguments batch;
  for (std::size_t first = 0; first < tensors.size(); first += kMostBindings) {
    const std::size_t count = std::min<std::size_t>(kMostBindings, tensors.size() - first);
    batch.to = to + first;
    batch.count = static_cast<std::uint32_t>(count);
    for (std::size_t i = 0; i < count; ++i) batch.bindings[i] = binding_of(tensors[first + i]);
    scaler_.device().launch(bind_kernel(), static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, &batch,
                            stream);
  }
}

bool DeviceList::rebind(std::span<const Tensor> tensors, cudaStream_t stream) {
  const std::span<const Tensor> bound = work_.tensors();
  const bool moved = !std::ranges::equal(bound, tensors, same_place);
  if (!work_.rebind(tensors)) return false;
  if (!moved) return true;
  const OnDevice here(scaler_.device().ordinal());
  bind(inputs_.data(), tensors, stream);
  return true;
}

void DeviceList::bind_outputs(const Tensor* outputs, cudaStream_t stream) {
  const std::span<const Tensor> wanted(outputs, work_.tensors().size());
  if (std::ranges::equal(wanted, outputs_, same_place)) return;
  bind(output_bindings_.data(), wanted, stream);
  outputs_.assign(wanted.begin(), wanted.end());  // within what assign reserved
}

Tables DeviceList::tables() const {
  return {.pieces = pieces_.data(), .inputs = inputs_.data(), .found = found_.data(), .ticket = &core_.data()->ticket};
}

PassArguments DeviceList::arguments(const PassRequest& request) const {
  PassArguments pass = arguments_for(work_, tables(), request.threshold);
  pass.end.list = core();
  pass.end.scaler = scaler_.core();
  pass.end.scaled = request.unscales ? 1 : 0;
  pass.end.steps = request.steps ? 1 : 0;
  return pass;
}

void DeviceList::launch(Kernel kernel, const PassArguments& pass, cudaStream_t stream) {
  const Device& device = scaler_.device();
  device.launch(kernel, device.blocks_for(kernel, pass.items), kThreads, &pass, stream);
  passed_ = true;
}

void DeviceList::run(const PassRequest& request, cudaStream_t stream) {
  const OnDevice here(scaler_.device().ordinal());
  PassArguments pass = arguments(request);
  const float* inverse_scale = request.unscales ? &scaler_.core()->shown.inverse_scale : nullptr;
  switch (request.pass) {
    case Pass::observe:
      return launch(observe_kernel(only_dtype(work_)), pass, stream);
    case Pass::unscale:
      pass.inverse_scale = inverse_scale;
      return launch(unscale_kernel(only_dtype(work_)), pass, stream);
    case Pass::write:
      break;
  }
  bind_outputs(request.outputs, stream);
  if (request.clip_norm > 0) {
    pass.end.clip_norm = request.clip_norm;
    launch(observe_kernel(only_dtype(work_)), pass, stream);
    pass.folds = 0;
    pass.coefficient = &core()->coefficient;
  }
  pass.outputs = output_bindings_.data();
  pass.inverse_scale = inverse_scale;
  pass.limit = request.limit;
  launch(write_kernel(), pass, stream);
}

ListCore DeviceList::read(Statistics* each, cudaStream_t stream) {
  const OnDevice here(scaler_.device().ordinal());
  const std::size_t count = work_.tensors().size();
  if (passed_ && count != 0) {
    const EachArguments arguments{found_.data(), tensor_pieces_.data(), each_.data(), count};
    const Device& device = scaler_.device();
    device.launch(fold_kernel(), device.blocks_for(fold_kernel(), (count + kWarps - 1) / kWarps), kThreads, &arguments,
                  stream);
    check(cudaMemcpyAsync(each, each_.data(), count * sizeof *each, cudaMemcpyDeviceToHost, stream), "read a list");
  }
  ListCore copy;
  check(cudaMemcpyAsync(&copy, core(), sizeof copy, cudaMemcpyDeviceToHost, stream), "read a list");
  check(cudaStreamSynchronize(stream), "wait for the stream");
  return copy;
}

}  // namespace tare::kernels::cuda
