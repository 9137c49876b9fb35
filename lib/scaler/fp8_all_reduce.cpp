#include "lib/scaler/fp8_all_reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/fp8/cast.hpp"
#include "kernels/fp8/shared_factor.hpp"
#include "lib/scaler/rank_call.hpp"

namespace tare {
namespace {

using kernels::Tensor;
using kernels::fp8::Factor;
using kernels::fp8::Slots;

constexpr std::uint64_t block_elements = 4096;  // elements that are added up at once

double mu_of(const Slots& slots, std::uint32_t slot, std::uint64_t ranks) {
  return slots.mu != nullptr ? slots.mu[slot] : 1 / std::sqrt(static_cast<double>(ranks));
}

Tensor part_of(const Tensor& tensor, std::uint64_t first, std::uint64_t count) {
  return {static_cast<unsigned char*>(tensor.data) + first * static_cast<std::uint64_t>(size_of(tensor.dtype)), count,
          tensor.dtype, 0};
}

Tensor bytes_at(std::uint8_t* at, std::uint64_t count, Dtype format) {
  return {at, count, format, 0};
}

/// What each byte of a format becomes, times a factor.
template <class Value>
std::array<Value, 256> each_byte(Dtype format, Dtype to, float factor) {
  std::array<std::uint8_t, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::array<Value, 256> values{};
  kernels::fp8::dequantise(bytes_at(bytes.data(), bytes.size(), format), {values.data(), values.size(), to, 0}, factor);
  return values;
}

template <class Value>
void write_values(const std::uint8_t* bytes, Dtype format, const Tensor& to, float factor) {
  const std::array<Value, 256> values = each_byte<Value>(format, to.dtype, factor);
  auto* const place = static_cast<unsigned char*>(to.data);
  for (std::uint64_t i = 0; i < to.count; ++i) std::memcpy(place + i * sizeof(Value), &values[bytes[i]], sizeof(Value));
}

}  // namespace

void Fp8AllReduce::run(const Slots& slots, const GradientList& list, const AllReduceOptions& options) {
  list_ = list;
  communicator_->require_exchange();
  if (options.adder == Adder::engine) communicator_->require_fp8_sum();
  require_alike(slots, options);
  know_ranks();
  share_factors(slots, options.combined);
  seen_.assign(list.tensors.size(), 0);
  at_largest_.assign(list.tensors.size(), 0);
  std::uint64_t total = 0;
  for (const Tensor& gradient : list.tensors) total += gradient.count;
  for (std::uint64_t begin = 0; begin < total; begin += options.bucket_bytes) {
    exchange(begin, std::min(options.bucket_bytes, total - begin));
  }
  note(slots);
}

/// How many there are, and which this one is: each sends every rank that one's number.
void Fp8AllReduce::know_ranks() {
  if (ranks_ != 0) return;
  double ranks = 1;
  communicator_->sum({&ranks, 1}, nullptr);
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::vector<std::uint64_t> own(numbers.size());
  communicator_->all_to_all(numbers.data(), own.data(), sizeof own[0], nullptr);
  rank_ = own[0];
  ranks_ = numbers.size();
}

void Fp8AllReduce::require_alike(const Slots& slots, const AllReduceOptions& options) {
  const std::uint64_t count = list_.tensors.size();
  const std::uint64_t digest = digest_of(list_, slots.mu, options);
  const std::array<std::uint64_t, 4> told{count, ~count, digest, ~digest};  // of each the greatest, and so the least
  std::vector<std::uint64_t> words(words_of_call(slots.count));
  put_call(words, RankCall::all_reduce);
  std::ranges::copy(told, words.begin() + call_words);
  communicator_->maximum(words, nullptr);
  require_same_call(words);
  require_same_list(std::span(words).subspan<call_words, 4>(), count);
}

void Fp8AllReduce::share_factors(const Slots& slots, Combined combined) {
  amaxes_.resize(list_.tensors.size());
  for (std::size_t i = 0; i < amaxes_.size(); ++i) {
    amaxes_[i] = kernels::fp8::observe(list_.tensors[i], {1, false, __builtin_inff()}).amax;
  }
  communicator_->maximum(amaxes_, nullptr);
  shared_.clear();
  for (std::size_t i = 0; i < amaxes_.size(); ++i) {
    const std::uint32_t slot = list_.slots[i];
    const kernels::fp8::SharedFactor factor = kernels::fp8::shared_factor(
        static_cast<std::uint32_t>(amaxes_[i]), slots.fp8_max[slot], mu_of(slots, slot, ranks_),
        combined == Combined::mean ? static_cast<double>(ranks_) : 1.0);
    shared_.push_back({factor.up, factor.down, kernels::fp8::counted_from(slots.params.fp8_lm, slots.fp8_max[slot]),
                       list_.formats[slot], factor.is_finite});
  }
}

template <class Visit>
void Fp8AllReduce::each_stretch(std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
  std::uint64_t first = 0;  // of the tensor
  for (std::size_t i = 0; i < list_.tensors.size() && first < end; ++i) {
    const std::uint64_t last = first + list_.tensors[i].count;
    const std::uint64_t from = std::max(first, begin);
    const std::uint64_t to = std::min(last, end);
    if (from < to) visit(Stretch{i, from - first, to - from, from - begin});
    first = last;
  }
}

void Fp8AllReduce::exchange(std::uint64_t begin, std::uint64_t size) {
  const std::uint64_t share = (size + ranks_ - 1) / ranks_;
  own_.assign(share * ranks_, 0);
  shares_.resize(share * ranks_);
  summed_.assign(share, 0);
  each_stretch(begin, begin + size, [&](const Stretch& stretch) {
    const Shared& by = shared_[stretch.tensor];
    if (!by.is_finite) return;
    kernels::fp8::quantise(part_of(list_.tensors[stretch.tensor], stretch.first, stretch.count),
                           bytes_at(own_.data() + stretch.at, stretch.count, by.format), {by.up, false, by.largest});
  });
  communicator_->all_to_all(own_.data(), shares_.data(), share, nullptr);
  const std::uint64_t mine = std::min(rank_ * share, size);
  each_stretch(begin + mine, begin + std::min(mine + share, size),
               [&](const Stretch& stretch) { add_up(stretch, share); });
  communicator_->all_gather(summed_.data(), own_.data(), share, nullptr);
  each_stretch(begin, begin + size, [&](const Stretch& stretch) {
    const Shared& by = shared_[stretch.tensor];
    constexpr std::uint8_t nan = 0x7f;  // of both formats
    if (!by.is_finite) std::memset(own_.data() + stretch.at, nan, stretch.count);
    const Tensor to = part_of(list_.tensors[stretch.tensor], stretch.first, stretch.count);
    if (to.dtype == Dtype::f32) return write_values<float>(own_.data() + stretch.at, by.format, to, by.down);
    write_values<std::uint16_t>(own_.data() + stretch.at, by.format, to, by.down);
  });
}

void Fp8AllReduce::add_up(const Stretch& stretch, std::uint64_t share) {
  const Shared& by = shared_[stretch.tensor];
  if (!by.is_finite) return;
  const std::array<float, 256> values = each_byte<float>(by.format, Dtype::f32, 1.0f);
  float sums[block_elements];
  for (std::uint64_t done = 0; done < stretch.count; done += block_elements) {
    const std::uint64_t count = std::min(block_elements, stretch.count - done);
    const std::uint64_t at = stretch.at + done;
    std::fill_n(sums, count, 0.0f);
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
      const std::uint8_t* const bytes = shares_.data() + rank * share + at;
      for (std::uint64_t i = 0; i < count; ++i) sums[i] += values[bytes[i]];
    }
    const kernels::fp8::Noted noted = kernels::fp8::quantise(
        {sums, count, Dtype::f32, 0}, bytes_at(summed_.data() + at, count, by.format), {1.0f, false, by.largest});
    seen_[stretch.tensor] += count;
    at_largest_[stretch.tensor] += noted.at_largest;
  }
}

void Fp8AllReduce::note(const Slots& slots) const {
  if (slots.mu == nullptr) return;
  for (std::size_t i = 0; i < list_.tensors.size(); ++i) {
    const std::uint32_t slot = list_.slots[i];
    slots.amax[slot] = std::max(slots.amax[slot], static_cast<std::uint32_t>(amaxes_[i]));
    slots.seen[slot] += seen_[i];
    slots.at_largest[slot] += at_largest_[i];
  }
}

}  // namespace tare
