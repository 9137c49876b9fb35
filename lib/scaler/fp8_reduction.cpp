#include "lib/scaler/fp8_reduction.hpp"

#include <algorithm>
#include <array>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/device/backend.hpp"
#include "lib/scaler/errors_at_edge.hpp"
#include "lib/scaler/rank_call.hpp"

namespace tare {
namespace {

/// Of the policy and all that its slots are made with.
std::uint64_t digest_of(const Fp8Set& set) {
  const ScalerState state = to_state(set);
  std::string text = state.policy;
  for (const auto& [key, value] : state.params) text += '\n' + key + '=' + value_to_json(value);
  return crc32(as_bytes(text));
}

std::array<std::uint64_t, 4> words_of(const Fp8Set& set) {
  const std::uint64_t count = set.count();
  const std::uint64_t digest = digest_of(set);
  return {count, ~count, digest, ~digest};
}

}  // namespace

Fp8Reduction::Fp8Reduction(std::shared_ptr<Communicator> communicator, const Fp8Set& set)
    : communicator_(std::move(communicator)),
      own_(words_of(set)),
      amaxes_(words_of_call(set.count())),
      counts_(2 * set.mu.size()) {}

void Fp8Reduction::compare(const std::array<std::uint64_t, 4>& all) const {
  if (all[0] != ~all[1]) {
    throw Error(Status::mismatch,
                "the ranks of the comm have from " + std::to_string(~all[1]) + " to " + std::to_string(all[0]) +
                    " slots, " + std::to_string(own_[0]) + " here",
                "All ranks make the same slots.");
  }
  if (all[2] != ~all[3]) {
    throw Error(Status::mismatch, "the slots of the comm's ranks differ in policy, parameters, names or formats",
                "All ranks make the same slots.");
  }
}

void Fp8Reduction::require_alike() {
  std::array<std::uint64_t, 4> words = own_;
  communicator_->maximum(words, nullptr);
  compare(words);
}

tare_backend_reduction Fp8Reduction::hook() {
  const auto enqueue_part = [](void* context, std::int32_t what, void* data, void* stream, tare_backend_error* error) {
    return errors_at_edge(error, [&] { static_cast<Fp8Reduction*>(context)->enqueue(what, data, stream); });
  };
  return {this, nullptr, enqueue_part, communicator_->takes(Operation::max_u32) ? 1 : 0, 0};
}

void Fp8Reduction::require_alike(const tare_backend_table& backend, tare_backend_slots* slots) {
  const tare_backend_reduction all_ranks = hook();
  std::array<std::uint64_t, 4> words = own_;
  call(backend.slots_join, slots, &all_ranks, words.data());
  compare(words);
  call(backend.slots_join, slots, &all_ranks, nullptr);
}

void Fp8Reduction::enqueue(std::int32_t what, void* data, kernels::Stream stream) {
  if (what == TARE_BACKEND_WORDS) {
    return communicator_->maximum({static_cast<std::uint64_t*>(data), own_.size()}, stream);
  }
  if (what == TARE_BACKEND_SLOTS) return enqueue_slots(*static_cast<const kernels::fp8::Slots*>(data), stream);
  const auto& numbers = *static_cast<const tare_backend_numbers*>(data);
  switch (what) {
    case TARE_BACKEND_MAXIMA:
      return communicator_->maximum({static_cast<std::uint64_t*>(numbers.to), numbers.count}, stream);
    case TARE_BACKEND_SUMS:
      return communicator_->sum({static_cast<double*>(numbers.to), numbers.count}, stream);
    case TARE_BACKEND_TO_ALL:
      return communicator_->all_to_all(numbers.from, numbers.to, numbers.count, stream);
    case TARE_BACKEND_FROM_ALL:
      return communicator_->all_gather(numbers.from, numbers.to, numbers.count, stream);
    default:
      const Dtype format = what == TARE_BACKEND_SUM_E4M3 ? Dtype::f8_e4m3fn : Dtype::f8_e5m2;
      return communicator_->sum_fp8(numbers.to, numbers.count, format, stream);
  }
}

void Fp8Reduction::enqueue_slots(const kernels::fp8::Slots& slots, kernels::Stream stream) {
  const RankNumbers parts[] = {{slots.amax, slots.count, Operation::max_u32},
                               {slots.seen, slots.count, Operation::sum_u64},
                               {slots.at_largest, slots.count, Operation::sum_u64}};
  communicator_->reduce(std::span(parts).first(slots.mu != nullptr ? 3 : 1), stream);
}

void Fp8Reduction::join(const kernels::fp8::Slots& slots) {
  const std::span<std::uint64_t> amaxes = std::span(amaxes_).subspan(call_words);
  std::ranges::fill(amaxes_, 0);
  put_call(amaxes_, RankCall::update);
  std::copy_n(slots.amax, slots.count, amaxes.begin());  // bits of magnitudes order as the magnitudes do, nan last
  communicator_->maximum(amaxes_, nullptr);
  require_same_call(amaxes_);
  const bool counts = slots.mu != nullptr;
  if (counts) {
    std::copy_n(slots.seen, slots.count, counts_.begin());
    std::copy_n(slots.at_largest, slots.count, counts_.begin() + slots.count);
    communicator_->sum(counts_, nullptr);  // exact up to 2^53
  }
  for (std::uint32_t i = 0; i < slots.count; ++i) {
    slots.amax[i] = static_cast<std::uint32_t>(amaxes[i]);
    if (!counts) continue;
    slots.seen[i] = static_cast<std::uint64_t>(counts_[i]);
    slots.at_largest[i] = static_cast<std::uint64_t>(counts_[slots.count + i]);
  }
}

}  // namespace tare
