#include "kernels/cuda/looks.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/reach.hpp"

namespace tare::kernels::cuda {
namespace {

void require_reachable(std::span<const Tensor> tensors, int device) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].count == 0) continue;
    const std::string place = unreachable_place(tensors[i].data, device);
    if (!place.empty()) refuse_place("tensor " + std::to_string(i), place, device);
  }
}

std::uint32_t pieces_of(std::span<const Tensor> tensors) {
  std::uint64_t pieces = 0;
  for (const Tensor& tensor : tensors) pieces += summary_pieces(tensor.count);
  static_assert(summary_piece == 1u << 13);  // as the message says
  if (pieces < (std::uint64_t{1} << 31)) return static_cast<std::uint32_t>(pieces);
  throw Refusal(invalid_argument, 0, "tensors of more than 2^44 values are not looked at together",
                "Look at them in several calls.");
}

}  // namespace

DeviceLooks::DeviceLooks(int device) : device_(device) {}

DeviceLooks::~DeviceLooks() {
  for (std::size_t i = 0; i < used_; ++i) {
    try {
      batches_[i]->done.wait();
    } catch (const Failure&) {  // the device is broken: it writes nothing any more
    }
  }
}

void DeviceLooks::prepare(Batch& batch, std::span<const Tensor> tensors) {
  const std::uint32_t pieces = pieces_of(tensors);
  batch.tensors.reserve(tensors.size());
  batch.work.reserve(pieces);
  batch.summaries.reserve(tensors.size());
  batch.moments.reserve(pieces);
  const SummaryCounts* before = batch.counts.data();
  batch.counts.reserve(tensors.size());
  if (batch.counts.data() != before) {
    const cudaStream_t own = device_.own_stream();
    check(cudaMemsetAsync(batch.counts.data(), 0, tensors.size() * sizeof(SummaryCounts), own), "clear memory");
    device_.finish_own();
  }
  LookPiece* work = batch.work.data();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto* data = static_cast<const unsigned char*>(tensors[i].data);
    batch.tensors.data()[i] = {{data, tensors[i].count, static_cast<std::int32_t>(tensors[i].dtype)},
                               static_cast<std::uint32_t>(work - batch.work.data())};
    const auto own = static_cast<std::uint32_t>(summary_pieces(tensors[i].count));
    for (std::uint32_t piece = 0; piece < own; ++piece) *work++ = {static_cast<std::uint32_t>(i), piece};
  }
  batch.size = tensors.size();
}

void DeviceLooks::enqueue(const Batch& batch, std::uint32_t pieces, const BorneScale& scale, cudaStream_t stream) {
  LookArguments all = {};
  all.tensors = batch.tensors.data();
  all.work = batch.work.data();
  all.tensor_count = static_cast<std::uint32_t>(batch.size);
  all.pieces = pieces;
  all.unscaling = Unscaling(scale.known);
  all.scale = scale.place;
  all.moments = batch.moments.data();
  all.counts = batch.counts.data();
  all.summaries = batch.summaries.data();
  const auto blocks = [](std::uint32_t warps) { return (warps + block_warps - 1) / block_warps; };
  if (pieces > 0) device_.launch(look_kernel(), blocks(pieces), threads, &all, stream);
  device_.launch(finish_look_kernel(), blocks(all.tensor_count), threads, &all, stream);
}

template <class Enqueue>
void DeviceLooks::look(cudaStream_t stream, const Enqueue& enqueue) {
  const OnDevice here(device_.ordinal());
  require_uncaptured(stream);
  if (used_ == batches_.size()) batches_.push_back(std::make_unique<Batch>());
  Batch& batch = *batches_[used_];
  try {
    enqueue(batch);
    batch.done.record(stream);
  } catch (...) {
    cudaStreamSynchronize(stream);  // some of it may be on its way
    batches_.erase(batches_.begin() + static_cast<std::ptrdiff_t>(used_));
    throw;
  }
  ++used_;
}

void DeviceLooks::add(std::span<const Tensor> tensors, const BorneScale& scale, cudaStream_t stream) {
  look(stream, [&](Batch& batch) {
    require_reachable(tensors, device_.ordinal());
    const std::string place = scale.place == nullptr ? "" : unreachable_place(scale.place, device_.ordinal());
    if (!place.empty()) refuse_place("the scale", place, device_.ordinal());
    prepare(batch, tensors);
    if (!tensors.empty()) enqueue(batch, pieces_of(tensors), scale, stream);
  });
}

void DeviceLooks::add(DeviceList& list, cudaStream_t stream) {
  look(stream, [&](Batch& batch) {
    batch.size = list.size();
    batch.statistics.reserve(batch.size);
    if (list.counts_finite()) batch.finite.reserve(batch.size);
    batch.list.reserve(1);
    batch.scaler.reserve(1);
    list.leave(batch.statistics.data(), batch.finite.data(), batch.list.data(), batch.scaler.data(), stream);
  });
}

void DeviceLooks::add(const ScalerPlaces& places, cudaStream_t stream) {
  look(stream, [&](Batch& batch) {
    batch.standing.reserve(1);
    ScalerStanding& standing = *batch.standing.data();
    standing = places.known;
    const auto copy = [&](auto& to, const auto* from) {
      if (from == nullptr) return;
      check(cudaMemcpyAsync(&to, from, sizeof to, cudaMemcpyDeviceToHost, stream), "read a scaler");
    };
    copy(standing.scale, places.scale);
    copy(standing.skipped, places.skipped);
    copy(standing.growths, places.growths);
    copy(standing.backoffs, places.backoffs);
  });
}

bool DeviceLooks::are_done() const {
  const OnDevice here(device_.ordinal());
  const auto used = std::span(batches_).first(used_);
  return std::ranges::all_of(used, [](const auto& batch) { return batch->done.is_done(); });
}

void DeviceLooks::read(const tare_backend_seen* into) {
  const OnDevice here(device_.ordinal());
  for (std::size_t i = 0; i < used_; ++i) batches_[i]->done.wait();
  const auto copy = [](const auto& from, std::size_t count, void* to) {
    if (to != nullptr) std::memcpy(to, from.data(), count * sizeof *from.data());
  };
  for (std::size_t i = 0; i < used_; ++i, ++into) {
    const Batch& batch = *batches_[i];
    copy(batch.summaries, batch.size, into->summaries);
    copy(batch.statistics, batch.size, into->statistics);
    copy(batch.finite, batch.size, into->finite);
    copy(batch.list, 1, into->list);
    copy(batch.scaler, 1, into->scaler);
    copy(batch.standing, 1, into->standing);
  }
  used_ = 0;
}

}  // namespace tare::kernels::cuda
