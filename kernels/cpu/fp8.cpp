#include "kernels/cpu/fp8.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "kernels/backend.h"
#include "kernels/backend_edge.hpp"
#include "kernels/fp8/cast.hpp"

namespace tare::kernels::cpu {
namespace {

using fp8::Factor;
using fp8::Noted;
using fp8::Slots;

Factor factor_of(const Slots& slots, std::uint32_t slot) {
  return {slots.scale[slot], fp8::divides(slots.params.rule),
          fp8::counted_from(slots.params.fp8_lm, slots.fp8_max[slot])};
}

void add(const Slots& slots, std::uint32_t slot, const Noted& noted, std::uint64_t values) {
  slots.amax[slot] = std::max(slots.amax[slot], noted.amax);
  if (slots.seen == nullptr) return;
  slots.seen[slot] += values;
  slots.at_largest[slot] += noted.at_largest;
}

/// One cast of a list: as many threads as there are take parts of it until none is left.
class Cast {
 public:
  Cast(const Slots& slots, std::int32_t what, std::span<const Tensor> tensors, const std::uint32_t* slots_of,
       const Tensor* outputs)
      : slots_(slots), what_(what), tensors_(tensors), slots_of_(slots_of), outputs_(outputs) {}

  void operator()() {
    for (Part part = take(); part.tensor < tensors_.size(); part = take()) {
      const std::uint32_t slot = slots_of_[part.tensor];
      const Tensor from = part_of(tensors_[part.tensor], part);
      const Noted noted = cast(from, part, slot);
      if (what_ == TARE_BACKEND_NOTE ||
          (what_ == TARE_BACKEND_QUANTISE && fp8::learns_from_casts(slots_.params.rule))) {
        const std::lock_guard lock(mutex_);
        add(slots_, slot, noted, from.count);
      }
    }
  }

 private:
  struct Part {
    std::size_t tensor;
    std::uint64_t begin;
    std::uint64_t count;
  };

  /// The next part; behind the last a tensor that is not there.
  Part take() {
    const std::lock_guard lock(mutex_);
    while (tensor_ < tensors_.size() && begin_ == tensors_[tensor_].count) {
      ++tensor_;
      begin_ = 0;
    }
    if (tensor_ == tensors_.size()) return {tensor_, 0, 0};
    const Part part = {tensor_, begin_, std::min(part_elements, tensors_[tensor_].count - begin_)};
    begin_ += part.count;
    return part;
  }

  static Tensor part_of(Tensor whole, const Part& part) {
    whole.data =
        static_cast<unsigned char*>(whole.data) + part.begin * static_cast<std::uint64_t>(size_of(whole.dtype));
    whole.count = part.count;
    return whole;
  }

  Noted cast(const Tensor& from, const Part& part, std::uint32_t slot) const {
    if (what_ == TARE_BACKEND_NOTE) return fp8::observe(from, factor_of(slots_, slot));
    const Tensor to = part_of(outputs_[part.tensor], part);
    if (what_ == TARE_BACKEND_QUANTISE) return fp8::quantise(from, to, factor_of(slots_, slot));
    fp8::dequantise(from, to, (fp8::divides(slots_.params.rule) ? slots_.scale : slots_.inverse)[slot]);
    return {};
  }

  static constexpr std::uint64_t part_elements = std::uint64_t{1} << 17;

  const Slots& slots_;
  const std::int32_t what_;
  const std::span<const Tensor> tensors_;
  const std::uint32_t* const slots_of_;
  const Tensor* const outputs_;
  std::mutex mutex_;  // of what is taken, and of what the slots have seen
  std::size_t tensor_ = 0;
  std::uint64_t begin_ = 0;
};

// Below this it takes longer to wake a thread than to do its work.
constexpr std::uint64_t least_parallel_elements = std::uint64_t{1} << 18;

bool is_worth_threads(std::span<const Tensor> tensors) {
  std::uint64_t elements = 0;
  for (const Tensor& tensor : tensors) elements += std::min(tensor.count, least_parallel_elements);
  return elements >= least_parallel_elements;
}

}  // namespace

void Casts::assign(std::span<const Tensor> tensors, const std::uint32_t* slots) {
  tensors_.clear();
  slots_of_.reserve(tensors.size());
  tensors_.assign(tensors.begin(), tensors.end());
  slots_of_.assign(slots, slots + tensors.size());
}

bool Casts::rebind(std::span<const Tensor> tensors, const std::uint32_t* slots) {
  const auto same_shape = [](const Tensor& a, const Tensor& b) { return a.count == b.count && a.dtype == b.dtype; };
  if (!std::ranges::equal(tensors, tensors_, same_shape)) return false;
  if (!std::ranges::equal(std::span(slots, tensors.size()), slots_of_)) return false;
  std::ranges::copy(tensors, tensors_.begin());
  return true;
}

void Casts::run(std::int32_t what, const Tensor* outputs) const {
  slots_.cast(what, tensors_, slots_of_.data(), outputs);
}

CastingSlots::CastingSlots(unsigned threads, const Slots& like)
    : slots_(like.params, like.shape, std::span(like.fp8_max, like.count)), workers_(threads), owner_(getpid()) {
  slots_.assign(like);
}

void CastingSlots::cast(std::int32_t what, std::span<const Tensor> tensors, const std::uint32_t* slots_of,
                        const Tensor* outputs) {
  Cast all(slots_.arrays(), what, tensors, slots_of, outputs);
  if (workers_.count() == 1) return all();
  if (getpid() != owner_) {
    throw Refusal(refused, 0, "the slots were made in another process, and their threads are there",
                  "After fork, make new slots.");
  }
  if (!is_worth_threads(tensors)) return all();
  workers_.run(all);
}

}  // namespace tare::kernels::cpu
