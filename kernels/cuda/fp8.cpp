#include "kernels/cuda/fp8.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cuda/dequantise.hpp"
#include "kernels/fp8/each_array.hpp"

namespace tare::kernels::cuda {
namespace {

template <class T>
T* reserved(Room<T>& room, std::size_t count) {
  room.reserve(std::max<std::size_t>(count, 1));
  return room.data();
}

/// The tables that every cast takes.
template <class Arguments>
Arguments arguments_of(const DeviceWork& work, const std::uint32_t* slots, Turns* turns) {
  Arguments all = {};
  all.pieces = work.pieces();
  all.inputs = work.inputs();
  all.slots = slots;
  std::ranges::copy(work.list().segments(), all.segments);
  all.segment_count = static_cast<std::int32_t>(work.list().segments().size());
  all.items = work.list().items();
  all.turns = turns;
  return all;
}

void join_data(const tare_backend_reduction& reduction, std::int32_t what, void* data, cudaStream_t stream) {
  tare_backend_error error;
  if (reduction.enqueue(reduction.context, what, data, stream, &error) == done) return;
  throw Refusal(error.status, error.detail, error.message, error.hint);
}

}  // namespace

void join_ranks(const tare_backend_reduction& reduction, std::int32_t what, tare_backend_numbers numbers,
                cudaStream_t stream) {
  join_data(reduction, what, &numbers, stream);
}

DeviceSlots::DeviceSlots(int device, const fp8::Slots& like) : device_(device), order_(device_), slots_(like) {
  const OnDevice here(device);
  const std::size_t count = like.count;
  slots_.amax = reserved(amax_, count);
  slots_.ring = reserved(ring_, count * like.shape.ring_stride());
  slots_.groups = reserved(groups_, count * like.shape.group_stride());
  slots_.oldest = reserved(oldest_, count);
  slots_.steps = reserved(steps_, count);
  slots_.fp8_max = reserved(fp8_max_, count);
  slots_.scale = reserved(scale_, count);
  slots_.inverse = reserved(inverse_, count);
  if (like.mu != nullptr) {
    slots_.mu = reserved(mu_, count);
    slots_.seen = reserved(seen_, count);
    slots_.at_largest = reserved(at_largest_, count);
  }
  agreed_.reserve(agreed_words);
  copy_in(like, device_.own_stream());
}

DeviceSlots::~DeviceSlots() = default;

void DeviceSlots::step(cudaStream_t stream) {
  const OnDevice here(device_.ordinal());
  const std::uint64_t blocks = (std::uint64_t{slots_.count} + fp8::slots_of_block - 1) / fp8::slots_of_block;
  order_.take_turn(stream, [&](Capture) {
    if (reduction_.enqueue != nullptr) join_counts(stream);
    device_.launch(slots_kernel(), device_.blocks_for(slots_kernel(), blocks), threads, &slots_, stream);
  });
}

void DeviceSlots::join_by(const tare_backend_reduction& reduction) {
  const OnDevice here(device_.ordinal());
  reserved(words_, slots_.count);
  reserved(numbers_, 2 * slots_.count);
  reduction_ = reduction;
}

/// What casts saw becomes what those of all ranks saw: in place, or by words and numbers that any engine takes.
void DeviceSlots::join_counts(cudaStream_t stream) const {
  if (reduction_.takes_slots != 0) {
    fp8::Slots slots = slots_;
    return join_data(reduction_, TARE_BACKEND_SLOTS, &slots, stream);
  }
  RankNumbersArguments all = {};
  all.slots = slots_;
  all.words = words_.data();
  all.numbers = numbers_.data();
  all.step = RankStep::tell_slots;
  tell_ranks(all, stream);
  join_ranks(reduction_, TARE_BACKEND_MAXIMA, {all.words, all.words, slots_.count}, stream);
  if (slots_.mu != nullptr) {
    join_ranks(reduction_, TARE_BACKEND_SUMS, {all.numbers, all.numbers, 2 * std::uint64_t{slots_.count}}, stream);
  }
  all.step = RankStep::hear_slots;
  tell_ranks(all, stream);
}

void DeviceSlots::tell_ranks(const RankNumbersArguments& arguments, cudaStream_t stream) const {
  const std::uint64_t blocks = (std::uint64_t{count_of(arguments)} + threads - 1) / threads;
  device_.launch(rank_numbers_kernel(), device_.blocks_for(rank_numbers_kernel(), blocks), threads, &arguments, stream);
}

void DeviceSlots::count_ranks(const tare_backend_reduction& reduction, std::uint64_t& ranks, std::uint64_t& rank,
                              cudaStream_t stream) {
  const OnDevice here(device_.ordinal());
  require_uncaptured(stream);
  const auto copy = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream), "join ranks");
  };
  double count = 1;
  reserved(numbers_, 1);
  copy(numbers_.data(), &count, sizeof count, cudaMemcpyHostToDevice);
  join_ranks(reduction, TARE_BACKEND_SUMS, {numbers_.data(), numbers_.data(), 1}, stream);
  copy(&count, numbers_.data(), sizeof count, cudaMemcpyDeviceToHost);
  check(cudaStreamSynchronize(stream), "wait for the stream");
  ranks = static_cast<std::uint64_t>(count);
  std::vector<std::uint64_t> numbers(ranks);  // each tells every rank that one's number
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  ranks_.reserve(2 * ranks);
  copy(ranks_.data(), numbers.data(), ranks * sizeof rank, cudaMemcpyHostToDevice);
  join_ranks(reduction, TARE_BACKEND_TO_ALL, {ranks_.data(), ranks_.data() + ranks, sizeof rank}, stream);
  copy(&rank, ranks_.data() + ranks, sizeof rank, cudaMemcpyDeviceToHost);
  check(cudaStreamSynchronize(stream), "wait for the stream");
}

void DeviceSlots::compare(const tare_backend_reduction& reduction, const std::uint64_t* list, std::uint64_t* words,
                          cudaStream_t stream) {
  const OnDevice here(device_.ordinal());
  if (words != nullptr) require_uncaptured(stream);
  order_.take_turn(stream, [&](Capture) {
    RankNumbersArguments all = {};
    all.slots = slots_;
    all.words = agreed_.data();
    std::copy_n(list, 2, all.list);
    all.step = RankStep::tell_list;
    tell_ranks(all, stream);
    join_ranks(reduction, TARE_BACKEND_MAXIMA, {all.words, all.words, agreed_words}, stream);
  });
  if (words == nullptr) return;
  check(cudaMemcpyAsync(words, agreed_.data(), agreed_words * sizeof *words, cudaMemcpyDeviceToHost, stream),
        "join ranks");
  check(cudaStreamSynchronize(stream), "wait for the stream");
}

void DeviceSlots::join_words(const tare_backend_reduction& reduction, std::uint64_t* words) {
  constexpr std::size_t bytes = agreed_words * sizeof *words;
  const OnDevice here(device_.ordinal());
  const cudaStream_t own = device_.own_stream();
  check(cudaMemcpyAsync(agreed_.data(), words, bytes, cudaMemcpyHostToDevice, own), "join ranks");
  join_data(reduction, TARE_BACKEND_WORDS, agreed_.data(), own);
  check(cudaMemcpyAsync(words, agreed_.data(), bytes, cudaMemcpyDeviceToHost, own), "join ranks");
  device_.finish_own();
}

void DeviceSlots::read(const fp8::Slots& into, cudaStream_t stream) const {
  const OnDevice here(device_.ordinal());
  require_uncaptured(stream);
  order_.wait(stream);
  fp8::each_array(into, slots_, [&](void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "read slots");
  });
  check(cudaStreamSynchronize(stream), "wait for the stream");
}

void DeviceSlots::write(const fp8::Slots& from, cudaStream_t stream) {
  const OnDevice here(device_.ordinal());
  require_uncaptured(stream);
  order_.take_turn(stream, [&](Capture) { copy_in(from, stream); });
}

void DeviceSlots::copy_in(const fp8::Slots& from, cudaStream_t stream) {
  fp8::each_array(slots_, from, [&](void* to, const void* given, std::size_t bytes) {
    check(cudaMemcpyAsync(to, given, bytes, cudaMemcpyHostToDevice, stream), "write slots");
  });
  check(cudaStreamSynchronize(stream), "wait for the stream");
  slots_.params = from.params;
}

CastList::CastList(DeviceSlots& slots) : slots_(slots), work_(slots.device()) {}

CastList::~CastList() = default;

void CastList::assign(std::span<const Tensor> inputs, const std::uint32_t* slots) {
  const OnDevice here(device().ordinal());
  const cudaStream_t own = device().own_stream();
  slots_.order().wait(own);  // earlier casts read the tables
  work_.assign(inputs);
  try {
    slots_of_.assign(slots, slots + inputs.size());
    device_slots_of_.reserve(inputs.size());
    turns_.reserve(1);
    check(cudaMemsetAsync(turns_.data(), 0, sizeof(Turns), own), "make a list ready");
    check(cudaMemcpyAsync(device_slots_of_.data(), slots, inputs.size() * sizeof *slots, cudaMemcpyHostToDevice, own),
          "upload a list");
    device().finish_own();
  } catch (...) {
    work_.clear();
    slots_of_.clear();
    throw;
  }
}

bool CastList::rebind(std::span<const Tensor> inputs, const std::uint32_t* slots) {
  return std::ranges::equal(slots_of_, std::span(slots, inputs.size())) && work_.rebind(inputs);
}

void CastList::cast(const Binding* outputs, bool notes, cudaStream_t stream) {
  const fp8::Slots& slots = slots_.slots();
  auto all = arguments_of<QuantiseArguments>(work_, device_slots_of_.data(), turns_.data());
  all.outputs = outputs;
  all.factor = slots.scale;
  all.largest = slots.fp8_max;
  all.divides = fp8::divides(slots.params.rule) ? 1 : 0;
  all.above = slots.params.fp8_lm.above;
  if (notes) {
    all.amax = slots.amax;
    all.seen = slots.seen;
    all.at_largest = slots.at_largest;
  }
  device().launch(quantise_kernel(), device().blocks_for(quantise_kernel(), all.items), threads, &all, stream);
}

void CastList::observe(cudaStream_t stream) {
  const OnDevice here(device().ordinal());
  slots_.order().take_turn(stream, [&](Capture capture) {
    work_.bind(capture, stream);
    cast(nullptr, true, stream);
  });
}

void CastList::quantise(const Tensor* outputs, cudaStream_t stream) {
  const OnDevice here(device().ordinal());
  slots_.order().take_turn(stream, [&](Capture capture) {
    work_.bind(capture, stream);
    work_.bind_outputs(outputs, capture, stream);
    cast(work_.outputs(), fp8::learns_from_casts(slots_.slots().params.rule), stream);
  });
}

void CastList::dequantise(const Tensor* outputs, cudaStream_t stream) {
  const OnDevice here(device().ordinal());
  slots_.order().take_turn(stream, [&](Capture capture) {
    work_.bind(capture, stream);
    work_.bind_outputs(outputs, capture, stream);
    auto all = arguments_of<DequantiseArguments>(work_, device_slots_of_.data(), turns_.data());
    all.outputs = work_.outputs();
    all.factor = fp8::divides(slots_.slots().params.rule) ? slots_.slots().scale : slots_.slots().inverse;
    const Kernel kernel = dequantise_kernel();
    device().launch(kernel, device().blocks_for(kernel, all.items), threads, &all, stream);
  });
}

}  // namespace tare::kernels::cuda
