#include "lib/scaler/fp8_device_sums.hpp"

#include <array>
#include <cmath>
#include <vector>

namespace tare {
namespace {

/// Each has buffers of its own, for 64 MiB of fp8.
constexpr std::size_t most_sums = 2;

std::vector<std::int32_t> formats_of(const GradientList& list) {
  std::vector<std::int32_t> formats;
  formats.reserve(list.tensors.size());
  for (const std::uint32_t slot : list.slots) formats.push_back(static_cast<std::int32_t>(list.formats[slot]));
  return formats;
}

}  // namespace

Fp8DeviceSums::Fp8DeviceSums(const tare_backend_table& backend, tare_backend_slots* slots, Fp8Reduction& reduction)
    : backend_(backend), slots_(slots), reduction_(reduction), hook_(reduction.hook()), sums_(most_sums) {}

void Fp8DeviceSums::run(const GradientList& list, const AllReduceOptions& options, kernels::Stream stream) {
  const Communicator& communicator = *reduction_.communicator();
  communicator.require_exchange();
  if (options.adder == Adder::engine) communicator.require_fp8_sum();
  const std::uint64_t digest = digest_of(list, nullptr, options);
  compare(list, digest, stream);
  know_ranks(stream);
  const auto ranks = static_cast<double>(ranks_);
  const tare_backend_sum how{ranks_,
                             rank_,
                             options.bucket_bytes,
                             options.adder == Adder::engine ? 1 : 0,
                             1 / std::sqrt(ranks),
                             options.combined == Combined::mean ? ranks : 1.0,
                             &hook_};
  call(backend_.sums_run, sums_of(list, how), &how, stream);
  agreed_ = digest;
}

void Fp8DeviceSums::know_ranks(kernels::Stream stream) {
  if (ranks_ != 0) return;
  std::uint64_t ranks = 0;
  call(backend_.slots_count_ranks, slots_, &hook_, &ranks, &rank_, stream);
  ranks_ = ranks;
}

/// All tell which list they have. Who has that of its last call, which was everybody's, does not wait for what the
/// others told: a rank that has another one does, and stops here.
void Fp8DeviceSums::compare(const GradientList& list, std::uint64_t digest, kernels::Stream stream) {
  const bool is_known = agreed_ == digest;
  agreed_.reset();
  const std::array<std::uint64_t, 2> told{list.tensors.size(), digest};
  std::array<std::uint64_t, 4> words{};
  call(backend_.slots_compare, slots_, &hook_, told.data(), is_known ? nullptr : words.data(), stream);
  if (!is_known) require_same_list(words, list.tensors.size());
}

tare_backend_sums* Fp8DeviceSums::sums_of(const GradientList& list, const tare_backend_sum& how) {
  return sums_.find(
      [&](tare_backend_sums* sums) {
        std::int32_t same = 0;
        call(backend_.sums_rebind, sums, list.tensors.data(), list.slots.data(), list.tensors.size(), &how, &same);
        return same != 0;
      },
      [&](const tare_backend_sums* sums) { return backend_.sums_are_captured(sums) != 0; },
      [&] { return made_by(backend_, backend_.sums_make, slots_); },
      [&](tare_backend_sums* sums) {
        const std::vector<std::int32_t> formats = formats_of(list);
        call(backend_.sums_assign, sums, list.tensors.data(), list.slots.data(), formats.data(), list.tensors.size(),
             &how);
      });
}

}  // namespace tare
