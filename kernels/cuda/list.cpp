#include "kernels/cuda/list.hpp"

namespace tare::kernels::cuda {

DeviceList::DeviceList(DeviceScaler& scaler) : scaler_(scaler), work_(scaler.device()) {
  const OnDevice here(device());
  core_.reserve(1);
  const Core fresh = {};
  check(cudaMemcpy(core_.data(), &fresh, sizeof fresh, cudaMemcpyHostToDevice), "make a list");
}

void DeviceList::assign(std::span<const Tensor> tensors, cudaStream_t stream) {
  const OnDevice here(device());
  passed_ = false;
  work_.assign(tensors, stream);
  try {
    found_.reserve(work_.list().pieces().size());
    each_.reserve(tensors.size());
  } catch (...) {
    work_.assign({}, stream);
    throw;
  }
}

bool DeviceList::rebind(std::span<const Tensor> tensors, cudaStream_t stream) {
  const OnDevice here(device());
  return work_.rebind(tensors, stream);
}

PassArguments DeviceList::arguments(const PassRequest& request) const {
  PassArguments pass = arguments_for(
      work_.list(),
      {.pieces = work_.pieces(), .inputs = work_.inputs(), .found = found_.data(), .ticket = &core_.data()->ticket},
      request.threshold);
  pass.end.list = core();
  pass.end.scaler = scaler_.core();
  pass.end.scaled = request.unscales ? 1 : 0;
  pass.end.steps = request.steps && request.clip_norm <= 0 ? 1 : 0;
  return pass;
}

void DeviceList::launch(Kernel kernel, const PassArguments& pass, cudaStream_t stream) {
  const Device& device = scaler_.device();
  device.launch(kernel, device.blocks_for(kernel, pass.items), kThreads, &pass, stream);
  passed_ = true;
}

void DeviceList::run(const PassRequest& request, cudaStream_t stream) {
  const OnDevice here(device());
  PassArguments pass = arguments(request);
  const float* inverse_scale = request.unscales ? &scaler_.core()->shown.inverse_scale : nullptr;
  switch (request.pass) {
    case Pass::observe:
      return launch(observe_kernel(only_dtype(work_.list())), pass, stream);
    case Pass::unscale:
      pass.inverse_scale = inverse_scale;
      return launch(unscale_kernel(only_dtype(work_.list())), pass, stream);
    case Pass::write:
      break;
  }
  work_.bind_outputs(request.outputs, stream);
  if (request.clip_norm > 0) {
    pass.end.clip_norm = request.clip_norm;
    launch(observe_kernel(only_dtype(work_.list())), pass, stream);
    pass.folds = 0;
    pass.coefficient = &core()->coefficient;
  }
  pass.outputs = work_.outputs();
  pass.inverse_scale = inverse_scale;
  pass.limit = request.limit;
  launch(write_kernel(), pass, stream);
}

ListCore DeviceList::read(Statistics* each, cudaStream_t stream) {
  const OnDevice here(device());
  const std::size_t count = work_.list().tensors().size();
  if (passed_ && count != 0) {
    const EachArguments arguments{found_.data(), work_.tensor_pieces(), each_.data(), count};
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
