#include "lib/scaler/fp8_reduction.hpp"

#include <algorithm>
#include <array>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"

namespace tare {
namespace {

/// Of the policy and all that its slots are made with.
std::uint64_t digest_of(const Fp8Set& set) {
  const ScalerState state = to_state(set);
  std::string text = state.policy;
  for (const auto& [key, value] : state.params) text += '\n' + key + '=' + value_to_json(value);
  return crc32(as_bytes(text));
}

void require_alike(Communicator& communicator, const Fp8Set& set) {
  const std::uint64_t count = set.count();
  const std::uint64_t digest = digest_of(set);
  std::array<std::uint64_t, 4> words{count, ~count, digest, ~digest};  // the greatest of each, and so the least as well
  communicator.maximum(words, nullptr);
  if (words[0] != ~words[1]) {
    throw Error(Status::mismatch,
                "the ranks of the comm have from " + std::to_string(~words[1]) + " to " + std::to_string(words[0]) +
                    " slots, " + std::to_string(count) + " here",
                "All ranks make the same slots.");
  }
  if (words[2] != ~words[3]) {
    throw Error(Status::mismatch, "the slots of the comm's ranks differ in policy, parameters, names or formats",
                "All ranks make the same slots.");
  }
}

}  // namespace

Fp8Reduction::Fp8Reduction(std::shared_ptr<Communicator> communicator, const Fp8Set& set)
    : communicator_(std::move(communicator)), amaxes_(set.count()), counts_(2 * set.mu.size()) {
  require_alike(*communicator_, set);
}

void Fp8Reduction::join(const kernels::fp8::Slots& slots) {
  std::copy_n(slots.amax, slots.count, amaxes_.begin());  // bits of magnitudes order as the magnitudes do, nan last
  communicator_->maximum(amaxes_, nullptr);
  const bool counts = slots.mu != nullptr;
  if (counts) {
    std::copy_n(slots.seen, slots.count, counts_.begin());
    std::copy_n(slots.at_largest, slots.count, counts_.begin() + slots.count);
    communicator_->sum(counts_, nullptr);  // exact up to 2^53
  }
  for (std::uint32_t i = 0; i < slots.count; ++i) {
    slots.amax[i] = static_cast<std::uint32_t>(amaxes_[i]);
    if (!counts) continue;
    slots.seen[i] = static_cast<std::uint64_t>(counts_[i]);
    slots.at_largest[i] = static_cast<std::uint64_t>(counts_[slots.count + i]);
  }
}

}  // namespace tare
