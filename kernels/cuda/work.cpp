#include "kernels/cuda/work.hpp"

#include <algorithm>

#include "kernels/cuda/reach.hpp"
#include "kernels/cuda/small_kernels.hpp"

namespace tare::kernels::cuda {
namespace {

bool same_place(const Tensor& a, const Tensor& b) {
  return a.data == b.data && a.dtype == b.dtype;
}

bool same_shape(const Tensor& a, const Tensor& b) {
  return a.count == b.count && a.dtype == b.dtype;
}

bool same_tensor(const Tensor& a, const Tensor& b) {
  return same_place(a, b) && a.count == b.count;
}

void require_reachable(const Tensor& tensor, const Device& device, const char* what, std::size_t index) {
  if (tensor.count == 0) return;
  const std::string place = unreachable_place(tensor.data, device.ordinal());
  if (place.empty()) return;
  std::string name = what;
  name.append(" ").append(std::to_string(index));
  refuse_place(name, place, device.ordinal());
}

}  // namespace

void Addresses::reserve(std::size_t count) {
  table_.reserve(count);
  bound_.reserve(count);
}

bool Addresses::holds(std::span<const Tensor> tensors, Capture capture) const {
  return is_current(capture) && std::ranges::equal(tensors, bound_, same_place);
}

bool Addresses::had(std::size_t index, const Tensor& tensor) const {
  return index < bound_.size() && same_place(bound_[index], tensor);
}

void Addresses::bind(std::span<const Tensor> tensors, const Device& device, Capture capture, cudaStream_t stream) {
  if (holds(tensors, capture)) return;
  known_ = false;
  captured_ = captured_ || capture != no_capture;
  BindArguments batch;
  for (std::size_t first = 0; first < tensors.size(); first += most_bindings) {
    const std::size_t count = std::min<std::size_t>(most_bindings, tensors.size() - first);
    batch.to = table_.data() + first;
    batch.count = static_cast<std::uint32_t>(count);
    for (std::size_t i = 0; i < count; ++i) batch.bindings[i] = binding_of(tensors[first + i]);
    device.launch(bind_kernel(), static_cast<unsigned>((count + threads - 1) / threads), threads, &batch, stream);
  }
  bound_.assign(tensors.begin(), tensors.end());  // within what was reserved
  capture_ = capture;
  known_ = true;
}

void DeviceWork::assign(std::span<const Tensor> tensors) {
  if (is_captured()) throw Failure("CUDA: a list that a graph has captured stays as it is", cudaErrorNotPermitted);
  for (std::size_t i = 0; i < tensors.size(); ++i) require_reachable(tensors[i], device_, "tensor", i);
  inputs_.forget();
  outputs_.forget();
  try {
    list_.assign(tensors);
    pieces_.reserve(list_.pieces().size());
    tensor_pieces_.reserve(tensors.size());
    inputs_.reserve(tensors.size());
    outputs_.reserve(tensors.size());
    upload();
  } catch (...) {
    clear();
    throw;
  }
}

void DeviceWork::clear() {
  list_.assign({});
}

/// The tables that only depend on counts and dtypes.
void DeviceWork::upload() {
  const auto copy = [&](void* to, const auto& from) {
    if (from.empty()) return;
    check(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, device_.own_stream()),
          "upload a list");
  };
  copy(pieces_.data(), list_.pieces());
  copy(tensor_pieces_.data(), list_.tensor_pieces());
  device_.finish_own();
}

bool DeviceWork::rebind(std::span<const Tensor> tensors) {
  const std::span<const Tensor> before = list_.tensors();
  if (std::ranges::equal(before, tensors, same_tensor)) return true;
  if (!std::ranges::equal(before, tensors, same_shape)) return false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!same_place(before[i], tensors[i])) require_reachable(tensors[i], device_, "tensor", i);
  }
  has_moved_ = true;
  return list_.rebind(tensors);
}

void DeviceWork::bind_outputs(const Tensor* outputs, Capture capture, cudaStream_t stream) {
  const std::span<const Tensor> all{outputs, list_.tensors().size()};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!outputs_.had(i, all[i])) require_reachable(all[i], device_, "output", i);
  }
  outputs_.bind(all, device_, capture, stream);
}

}  // namespace tare::kernels::cuda
