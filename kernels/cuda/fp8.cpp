#include "kernels/cuda/fp8.hpp"

#include <algorithm>
#include <vector>

namespace tare::kernels::cuda {

DeviceSlots::DeviceSlots(int device, const fp8::Params& params, const fp8::WindowShape& shape,
                         std::span<const float> fp8_max)
    : device_(device), slots_{} {
  const OnDevice here(device);
  const std::size_t count = fp8_max.size();
  const std::vector<float> ones(count, 1.0f);
  slots_ = {params,
            shape,
            static_cast<std::uint32_t>(count),
            made(amax_, count),
            made(ring_, count * shape.ring_stride()),
            made(groups_, count * shape.group_stride()),
            made(oldest_, count),
            made(steps_, count),
            made(fp8_max_, count),
            made(scale_, count),
            made(inverse_, count)};
  const auto fill = [&](float* to, const float* from) {
    check(cudaMemcpy(to, from, count * sizeof *to, cudaMemcpyHostToDevice), "make slots");
  };
  fill(fp8_max_.data(), fp8_max.data());
  fill(scale_.data(), ones.data());
  fill(inverse_.data(), ones.data());
}

DeviceSlots::~DeviceSlots() = default;

/// Zeros.
template <class T>
T* DeviceSlots::made(Room<T>& room, std::size_t count) {
  room.reserve(std::max<std::size_t>(count, 1));
  check(cudaMemset(room.data(), 0, count * sizeof(T)), "make slots");
  return room.data();
}

void DeviceSlots::step(cudaStream_t stream) {
  const OnDevice here(device_.ordinal());
  const std::uint64_t blocks = (std::uint64_t{slots_.count} + fp8::kSlotsOfBlock - 1) / fp8::kSlotsOfBlock;
  device_.launch(slots_kernel(), device_.blocks_for(slots_kernel(), blocks), kThreads, &slots_, stream);
}

QuantiseList::QuantiseList(const DeviceSlots& slots) : slots_(slots), work_(slots.device()) {}

QuantiseList::~QuantiseList() = default;

void QuantiseList::assign(std::span<const Tensor> inputs, const Tensor* outputs, const std::uint32_t* slots,
                          cudaStream_t stream) {
  const OnDevice here(slots_.device().ordinal());
  work_.assign(inputs, stream);
  slot_of_.reserve(inputs.size());
  work_.bind_outputs(outputs, stream);
  check(cudaMemcpyAsync(slot_of_.data(), slots, inputs.size() * sizeof *slots, cudaMemcpyHostToDevice, stream),
        "upload a list");
  check(cudaStreamSynchronize(stream), "wait for the stream");
}

void QuantiseList::run(cudaStream_t stream) {
  const OnDevice here(slots_.device().ordinal());
  QuantiseArguments all = {};
  all.pieces = work_.pieces();
  all.inputs = work_.inputs();
  all.outputs = work_.outputs();
  all.slots = slot_of_.data();
  all.scale = slots_.slots().scale;
  all.amax = slots_.slots().amax;
  std::ranges::copy(work_.list().segments(), all.segments);
  all.segment_count = static_cast<std::int32_t>(work_.list().segments().size());
  all.piece_count = static_cast<std::uint32_t>(work_.list().pieces().size());
  const Device& device = slots_.device();
  device.launch(quantise_kernel(), device.blocks_for(quantise_kernel(), all.piece_count), kThreads, &all, stream);
}

}  // namespace tare::kernels::cuda
