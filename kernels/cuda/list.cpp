#include "kernels/cuda/list.hpp"

#include <algorithm>

namespace tare::kernels::cuda {

DeviceList::DeviceList(DeviceScaler& scaler) : scaler_(scaler), work_(scaler.device()) {
  const OnDevice here(device());
  core_.reserve(1);
  block_counts_.reserve(scaler_.device().most_blocks());
  scaler_.know(core());
}

DeviceList::~DeviceList() {
  scaler_.forget(core());
}

void DeviceList::assign(std::span<const Tensor> tensors) {
  const OnDevice here(device());
  const cudaStream_t own = scaler_.device().own_stream();
  scaler_.order().wait(own);  // earlier passes read the tables
  work_.assign(tensors);
  try {
    sums_.reserve(work_.list().pieces().size());
    counts_.reserve(work_.list().pieces().size());
    each_.reserve(tensors.size());
    if (counts_finite_) torn_.reserve(work_.list().pieces().size());
    if (counts_finite_) finite_.reserve(tensors.size());
    const Core fresh = {};
    check(cudaMemcpyAsync(core_.data(), &fresh, sizeof fresh, cudaMemcpyHostToDevice, own), "make a list ready");
    scaler_.device().finish_own();
  } catch (...) {
    work_.clear();
    throw;
  }
}

PassArguments DeviceList::arguments(const PassRequest& request) const {
  PassArguments pass = arguments_for(work_.list(),
                                     {.pieces = work_.pieces(),
                                      .inputs = work_.inputs(),
                                      .sums = sums_.data(),
                                      .counts = counts_.data(),
                                      .block_counts = block_counts_.data(),
                                      .ticket = &core_.data()->ticket,
                                      .cursor = &core_.data()->cursor},
                                     request.threshold);
  pass.end.list = core();
  if (scaler_.joins_ranks()) return pass;  // what is the scaler's comes behind the other ranks
  pass.end.scaler = scaler_.core();
  pass.end.scaled = request.unscales ? 1 : 0;
  pass.end.steps = request.steps && request.clip_norm <= 0 ? 1 : 0;
  return pass;
}

void DeviceList::launch(Kernel kernel, const PassArguments& pass, cudaStream_t stream) {
  const Device& device = scaler_.device();
  device.launch(kernel, device.blocks_for(kernel, pass.items), threads, &pass, stream);
}

void DeviceList::look(Kernel kernel, const PassArguments& pass, const PassRequest& request, cudaStream_t stream) {
  launch(kernel, pass, stream);
  if (!scaler_.joins_ranks()) return;
  CommandArguments found;
  found.list_count = 1;
  found.lists[0] = core();
  found.ranks.what = static_cast<std::int32_t>(request.pass);
  found.ranks.scaled = request.unscales ? 1 : 0;
  found.ranks.steps = request.steps && request.clip_norm <= 0 ? 1 : 0;
  found.ranks.clip_norm = pass.end.clip_norm;
  scaler_.join_ranks(found, stream);
}

void DeviceList::run(const PassRequest& request, cudaStream_t stream) {
  const OnDevice here(device());
  scaler_.order().take_turn(stream, [&](Capture capture) { enqueue(request, capture, stream); });
}

void DeviceList::enqueue(const PassRequest& request, Capture capture, cudaStream_t stream) {
  work_.bind(capture, stream);
  PassArguments pass = arguments(request);
  const float* inverse_scale = request.unscales ? &scaler_.core()->shown.inverse_scale : nullptr;
  switch (request.pass) {
    case Pass::observe:
      look(observe_kernel(only_dtype(work_.list())), pass, request, stream);
      return look_at_torn(stream);
    case Pass::unscale:
      look_ahead(pass, stream);
      pass.inverse_scale = inverse_scale;
      return look(unscale_kernel(only_dtype(work_.list())), pass, request, stream);
    case Pass::scale:
      pass.inverse_scale = &scaler_.core()->shown.scale;
      pass.folds = 0;
      return launch(rewrite_kernel(only_dtype(work_.list())), pass, stream);
    case Pass::write:
      break;
  }
  work_.bind_outputs(request.outputs, capture, stream);
  if (request.clip_norm > 0) {
    pass.end.clip_norm = request.clip_norm;
    look(observe_kernel(only_dtype(work_.list())), pass, request, stream);
    look_at_torn(stream);
    pass.folds = 0;
    pass.coefficient = &core()->coefficient;
  }
  if (request.clip_norm <= 0) look_ahead(pass, stream);
  pass.outputs = work_.outputs();
  pass.inverse_scale = inverse_scale;
  pass.limit = request.limit;
  if (request.clip_norm > 0) return launch(kernel_that_writes(request), pass, stream);
  look(kernel_that_writes(request), pass, request, stream);
}

Kernel DeviceList::kernel_that_writes(const PassRequest& request) const {
  const std::span<const Tensor> inputs = work_.list().tensors();
  const std::span<const Tensor> outputs{request.outputs, inputs.size()};
  if (!std::ranges::equal(inputs, outputs, {}, &Tensor::dtype, &Tensor::dtype)) return write_kernel();
  const Dtype only = only_dtype(work_.list());
  return request.clip_norm > 0 ? rewrite_kernel(only) : unscale_kernel(only);
}

void DeviceList::follow_reduced(cudaStream_t stream) {
  CommandArguments asked;
  asked.command = Command::take_reduced;
  asked.list_count = 1;
  asked.lists[0] = core();
  scaler_.obey(asked, stream);
}

void DeviceList::look_ahead(PassArguments pass, cudaStream_t stream) {
  if (!counts_finite_) return;
  pass.end = {};
  launch(observe_kernel(only_dtype(work_.list())), pass, stream);
  look_at_torn(stream);
}

TornArguments DeviceList::torn_arguments() const {
  TornArguments torn = {};
  torn.pieces = work_.pieces();
  torn.inputs = work_.inputs();
  torn.sums = sums_.data();
  torn.counts = counts_.data();
  torn.tensors = work_.tensor_pieces();
  torn.of_pieces = torn_.data();
  torn.piece_count = static_cast<std::uint32_t>(work_.list().pieces().size());
  torn.tensor_count = static_cast<std::uint32_t>(size());
  return torn;
}

void DeviceList::look_at_torn(cudaStream_t stream) {
  const TornArguments torn = torn_arguments();
  if (!counts_finite_ || torn.piece_count == 0) return;
  const Device& device = scaler_.device();
  device.launch(torn_kernel(), device.blocks_for(torn_kernel(), (torn.piece_count + block_warps - 1) / block_warps),
                threads, &torn, stream);
}

void DeviceList::fold(Statistics* each, FiniteValues* finite, cudaStream_t stream) const {
  const EachArguments arguments{sums_.data(), counts_.data(), work_.tensor_pieces(), each, size()};
  const Device& device = scaler_.device();
  device.launch(fold_kernel(), device.blocks_for(fold_kernel(), (size() + block_warps - 1) / block_warps), threads,
                &arguments, stream);
  if (!counts_finite_ || size() == 0) return;
  TornArguments torn = torn_arguments();
  torn.each = each;
  torn.of_tensors = finite;
  device.launch(finish_torn_kernel(),
                device.blocks_for(finish_torn_kernel(), (torn.tensor_count + threads - 1) / threads), threads, &torn,
                stream);
}

void DeviceList::leave(Statistics* each, FiniteValues* finite, ListCore* core, ScalerCore* scaler,
                       cudaStream_t stream) {
  const OnDevice here(device());
  require_uncaptured(stream);
  scaler_.order().take_turn(stream, [&](Capture) {
    check(cudaMemcpyAsync(core, this->core(), sizeof *core, cudaMemcpyDeviceToHost, stream), "read a list");
    check(cudaMemcpyAsync(scaler, scaler_.core(), sizeof *scaler, cudaMemcpyDeviceToHost, stream), "read a scaler");
    fold(each, finite, stream);
  });
}

ListCore DeviceList::read(Statistics* each, cudaStream_t stream, FiniteValues* finite) const {
  const OnDevice here(device());
  require_uncaptured(stream);
  scaler_.order().wait(stream);
  const std::lock_guard guard(reading_);
  const std::size_t count = work_.list().tensors().size();
  ListCore copy;
  check(cudaMemcpyAsync(&copy, core(), sizeof copy, cudaMemcpyDeviceToHost, stream), "read a list");
  check(cudaStreamSynchronize(stream), "wait for the stream");
  if (copy.seen.count == 0) {  // no pass has run, or there is nothing to see
    std::ranges::transform(work_.list().tensors(), each, [](const Tensor&) { return Statistics{}; });
    if (counts_finite_) std::fill_n(finite, count, FiniteValues{});
    return copy;
  }
  fold(each_.data(), finite_.data(), stream);
  check(cudaMemcpyAsync(each, each_.data(), count * sizeof *each, cudaMemcpyDeviceToHost, stream), "read a list");
  if (counts_finite_) {
    check(cudaMemcpyAsync(finite, finite_.data(), count * sizeof *finite, cudaMemcpyDeviceToHost, stream),
          "read a list");
  }
  check(cudaStreamSynchronize(stream), "wait for the stream");
  return copy;
}

}  // namespace tare::kernels::cuda
