#include "kernels/cuda/gradient_sums.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/cuda/dequantise.hpp"
#include "kernels/cuda/rank_sums.hpp"

namespace tare::kernels::cuda {
namespace {

constexpr std::uint64_t divided_up(std::uint64_t size, std::uint64_t by) {
  return (size + by - 1) / by;
}

template <class Arguments>
Arguments arguments_of(const DeviceWork& work, Turns* turns) {
  Arguments all = {};
  all.pieces = work.pieces();
  all.inputs = work.inputs();
  all.outputs = work.outputs();
  std::ranges::copy(work.list().segments(), all.segments);
  all.segment_count = static_cast<std::int32_t>(work.list().segments().size());
  all.items = work.list().items();
  all.turns = turns;
  return all;
}

template <class T>
void upload(Room<T>& to, const std::vector<T>& from, cudaStream_t stream) {
  to.reserve(std::max<std::size_t>(from.size(), 1));
  if (from.empty()) return;
  check(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream),
        "upload a list");
}

void put_zeros(void* at, std::size_t bytes, cudaStream_t stream) {
  if (bytes > 0) check(cudaMemsetAsync(at, 0, bytes, stream), "clear memory");
}

/// What engines have sums of fp8 for.
void require_fp8_sum(int device) {
  constexpr int first = 9;
  int major = 0;
  int minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "ask for its kind");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "ask for its kind");
  if (major >= first) return;
  throw Refusal(unsupported, 0,
                "cuda:" + std::to_string(device) + " is of compute capability " + std::to_string(major) + "." +
                    std::to_string(minor) + ", and fp8 is added by NCCL from 9.0 on",
                "Leave the option \"adder\" out: ranks then add their shares, on any GPU.");
}

Tensor part_of(const Tensor& tensor, std::uint64_t first, std::uint64_t count) {
  return {static_cast<unsigned char*>(tensor.data) + first * static_cast<std::uint64_t>(size_of(tensor.dtype)), count,
          tensor.dtype, 0};
}

}  // namespace

GradientSums::GradientSums(DeviceSlots& slots) : slots_(slots), whole_(slots.device()) {}

GradientSums::~GradientSums() = default;

SummedTensors GradientSums::tensors() const {
  const auto count = static_cast<std::uint32_t>(slots_of_.size());
  return {device_slots_of_.data(), amax_.data(),           up_.data(), down_.data(), largest_.data(),
          counts_.data(),          counts_.data() + count, count};
}

/// Of the gradients, one after another, those that are in this bucket.
void GradientSums::lay_out(std::span<const Tensor> gradients, Bucket& bucket, std::uint64_t begin) const {
  bucket.wide.clear();
  bucket.narrow.clear();
  bucket.tensors.clear();
  const std::uint64_t end = begin + bucket.bytes;
  std::uint64_t first = 0;  // of the tensor
  for (std::size_t i = 0; i < gradients.size() && first < end; ++i) {
    const std::uint64_t last = first + gradients[i].count;
    const std::uint64_t from = std::max(first, begin);
    const std::uint64_t to = std::min(last, end);
    if (from < to) {
      bucket.wide.push_back(part_of(gradients[i], from - first, to - from));
      bucket.narrow.push_back({own_.data() + (from - begin), to - from, formats_[i], 0});
      bucket.tensors.push_back(static_cast<std::uint32_t>(i));
    }
    first = last;
  }
}

/// Of a bucket those stretches that lie in this rank's share.
void GradientSums::lay_out_added(Bucket& bucket) const {
  const unsigned char* const mine = own_.data() + std::min(shape_.rank * bucket.share, bucket.bytes);
  const unsigned char* const end = own_.data() + std::min((shape_.rank + 1) * bucket.share, bucket.bytes);
  unsigned char* const from_ranks = shape_.by_engine ? own_.data() + shape_.rank * bucket.share : shares_.data();
  std::vector<Tensor> from;
  bucket.summed.clear();
  bucket.added_tensors.clear();
  bucket.added = static_cast<std::uint64_t>(end - mine);
  for (std::size_t k = 0; k < bucket.narrow.size(); ++k) {
    const auto* const begins = static_cast<const unsigned char*>(bucket.narrow[k].data);
    const unsigned char* const first = std::max(begins, mine);
    const unsigned char* const last = std::min(begins + bucket.narrow[k].count, end);
    if (first >= last) continue;
    const auto at = static_cast<std::uint64_t>(first - mine);
    const auto count = static_cast<std::uint64_t>(last - first);
    from.push_back({from_ranks + at, count, bucket.narrow[k].dtype, 0});
    bucket.summed.push_back({summed_.data() + at, count, bucket.narrow[k].dtype, 0});
    bucket.added_tensors.push_back(bucket.tensors[k]);
  }
  bucket.adding.assign(from);
}

void GradientSums::make_ready(Bucket& bucket) {
  lay_out_added(bucket);
  bucket.narrowing.assign(bucket.wide);
  bucket.widening.assign(bucket.narrow);
  upload(bucket.device_tensors, bucket.tensors, device().own_stream());
  upload(bucket.device_added_tensors, bucket.added_tensors, device().own_stream());
}

void GradientSums::assign(std::span<const Tensor> gradients, const std::uint32_t* slots, const std::int32_t* formats,
                          const SumShape& shape) {
  const OnDevice here(device().ordinal());
  if (shape.by_engine) require_fp8_sum(device().ordinal());
  const cudaStream_t own = device().own_stream();
  slots_.order().wait(own);  // earlier sums read the tables
  buckets_.clear();
  slots_of_.clear();
  whole_.assign(gradients);
  const std::size_t count = gradients.size();
  const std::uint64_t largest = std::min(total(), shape.bucket_bytes);
  const auto share_of = [&](std::uint64_t bytes) {
    return divided_up(divided_up(bytes, shape.ranks), vector_bytes) * vector_bytes;
  };
  shape_ = shape;
  formats_.clear();
  for (std::size_t i = 0; i < count; ++i) formats_.push_back(static_cast<Dtype>(formats[i]));
  own_.reserve(std::max<std::size_t>(share_of(largest) * shape.ranks, 1));
  if (!shape.by_engine) shares_.reserve(std::max<std::size_t>(share_of(largest) * shape.ranks, 1));
  summed_.reserve(std::max<std::size_t>(share_of(largest), 1));
  for (std::uint64_t begin = 0; begin < total(); begin += shape.bucket_bytes) {
    Bucket& bucket = *buckets_.emplace_back(std::make_unique<Bucket>(device()));
    bucket.bytes = std::min(shape.bucket_bytes, total() - begin);
    bucket.share = share_of(bucket.bytes);
    lay_out(gradients, bucket, begin);
    make_ready(bucket);
  }
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  upload(numbers_of_, numbers, own);
  const std::vector<std::uint32_t> given(slots, slots + count);
  upload(device_slots_of_, given, own);
  const std::size_t room = std::max<std::size_t>(count, 1);
  upload(up_, std::vector<float>(room, 1.0f), own);  // a look at the gradients multiplies by it
  upload(largest_, std::vector<float>(room, 1.0f), own);
  down_.reserve(room);
  amax_.reserve(room);
  counts_.reserve(2 * room);
  words_.reserve(room);
  turns_.reserve(1);
  put_zeros(turns_.data(), sizeof(Turns), own);
  device().finish_own();
  slots_of_ = given;
}

bool GradientSums::rebind(std::span<const Tensor> gradients, const std::uint32_t* slots, const SumShape& shape) {
  if (slots_of_.size() != gradients.size() || !std::ranges::equal(slots_of_, std::span(slots, gradients.size())) ||
      shape != shape_ || !whole_.rebind(gradients)) {
    return false;
  }
  std::uint64_t begin = 0;
  for (const auto& bucket : buckets_) {
    lay_out(gradients, *bucket, begin);
    bucket->narrowing.rebind(bucket->wide);
    begin += shape_.bucket_bytes;
  }
  return true;
}

/// To fp8, each value times its gradient's factor; of all gradients, which are only looked at, without a bucket.
void GradientSums::cast(DeviceWork& work, const Bucket* bucket, cudaStream_t stream) const {
  auto all = arguments_of<QuantiseArguments>(work, turns_.data());
  all.slots = bucket != nullptr ? bucket->device_tensors.data() : numbers_of_.data();
  all.factor = up_.data();
  all.largest = largest_.data();
  if (bucket == nullptr) {
    all.outputs = nullptr;
    all.amax = amax_.data();
  }
  device().launch(quantise_kernel(), device().blocks_for(quantise_kernel(), all.items), threads, &all, stream);
}

void GradientSums::look(Capture capture, cudaStream_t stream) {
  put_zeros(amax_.data(), slots_of_.size() * sizeof(std::uint32_t), stream);
  put_zeros(counts_.data(), 2 * slots_of_.size() * sizeof(std::uint64_t), stream);
  whole_.bind(capture, stream);
  cast(whole_, nullptr, stream);
}

void GradientSums::run(const tare_backend_reduction& reduction, double fixed_mu, double summands, cudaStream_t stream) {
  const OnDevice here(device().ordinal());
  if (slots_of_.empty()) return;
  slots_.order().take_turn(stream, [&](Capture capture) {
    RankNumbersArguments numbers = {};
    numbers.slots = slots_.slots();
    numbers.tensors = tensors();
    numbers.words = words_.data();
    numbers.fixed_mu = fixed_mu;
    numbers.summands = summands;
    const auto do_step = [&](RankStep step) {
      numbers.step = step;
      slots_.tell_ranks(numbers, stream);
    };
    look(capture, stream);
    do_step(RankStep::tell_maxima);
    join_ranks(reduction, TARE_BACKEND_MAXIMA, {words_.data(), words_.data(), slots_of_.size()}, stream);
    do_step(RankStep::hear_maxima);
    for (const auto& bucket : buckets_) enqueue_bucket(reduction, *bucket, capture, stream);
    if (numbers.slots.mu != nullptr) do_step(RankStep::note);
  });
}

void GradientSums::enqueue_bucket(const tare_backend_reduction& reduction, Bucket& bucket, Capture capture,
                                  cudaStream_t stream) {
  bucket.narrowing.bind(capture, stream);
  bucket.narrowing.bind_outputs(bucket.narrow.data(), capture, stream);
  cast(bucket.narrowing, &bucket, stream);
  if (shape_.by_engine) {
    sum_by_engine(reduction, bucket, stream);
    add(bucket, capture, stream);
  } else {
    put_zeros(own_.data() + bucket.bytes, bucket.share * shape_.ranks - bucket.bytes, stream);
    join_ranks(reduction, TARE_BACKEND_TO_ALL, {own_.data(), shares_.data(), bucket.share}, stream);
    put_zeros(summed_.data() + bucket.added, bucket.share - bucket.added, stream);
    add(bucket, capture, stream);
    join_ranks(reduction, TARE_BACKEND_FROM_ALL, {summed_.data(), own_.data(), bucket.share}, stream);
  }
  bucket.widening.bind(capture, stream);
  bucket.widening.bind_outputs(bucket.wide.data(), capture, stream);
  auto all = arguments_of<DequantiseArguments>(bucket.widening, turns_.data());
  all.slots = bucket.device_tensors.data();
  all.factor = down_.data();
  device().launch(dequantise_kernel(), device().blocks_for(dequantise_kernel(), all.items), threads, &all, stream);
}

/// The sums of this rank's share; of those that the engine made, which are one summand, only what they are like.
void GradientSums::add(Bucket& bucket, Capture capture, cudaStream_t stream) {
  if (bucket.added_tensors.empty()) return;
  bucket.adding.bind(capture, stream);
  bucket.adding.bind_outputs(bucket.summed.data(), capture, stream);
  auto all = arguments_of<RankSumsArguments>(bucket.adding, turns_.data());
  all.tensors = bucket.device_added_tensors.data();
  all.down = down_.data();
  all.largest = largest_.data();
  all.seen = counts_.data();
  all.at_largest = counts_.data() + slots_of_.size();
  all.stride = bucket.share;
  all.ranks = shape_.by_engine ? 1 : static_cast<std::uint32_t>(shape_.ranks);
  all.above = shape_.by_engine ? 0 : slots_.slots().params.fp8_lm.above;  // what went beyond is at the largest then
  device().launch(rank_sums_kernel(), device().blocks_for(rank_sums_kernel(), all.items), threads, &all, stream);
}

/// Gradients of one format lie beside others of theirs, as a rule: one reduction for all of them.
void GradientSums::sum_by_engine(const tare_backend_reduction& reduction, const Bucket& bucket,
                                 cudaStream_t stream) const {
  for (auto first = bucket.narrow.begin(); first != bucket.narrow.end();) {
    const auto last =
        std::find_if(first, bucket.narrow.end(), [&](const Tensor& part) { return part.dtype != first->dtype; });
    const std::uint64_t bytes = std::accumulate(first, last, std::uint64_t{0},
                                                [](std::uint64_t sum, const Tensor& part) { return sum + part.count; });
    const std::int32_t what = first->dtype == Dtype::f8_e4m3fn ? TARE_BACKEND_SUM_E4M3 : TARE_BACKEND_SUM_E5M2;
    join_ranks(reduction, what, {first->data, first->data, bytes}, stream);
    first = last;
  }
}

}  // namespace tare::kernels::cuda
