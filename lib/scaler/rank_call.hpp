// What ranks of FP8 slots on the host tell first in a call, so that all are told where one makes another call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/error.hpp"

namespace tare {

/// Numbers that no amax, count or digest is.
enum class RankCall : std::uint64_t { update = 0x7461726500000001u, all_reduce = 0x7461726500000002u };

/// The call's number and its complement.
inline constexpr std::size_t call_words = 2;

/// As many words as every call of so many slots begins with, so that engines take them for the same reduction.
inline std::size_t words_of_call(std::size_t slots) {
  constexpr std::size_t words_of_list = 4;
  return call_words + std::max(slots, words_of_list);
}

inline void put_call(std::span<std::uint64_t> words, RankCall call) {
  words[0] = static_cast<std::uint64_t>(call);
  words[1] = ~words[0];
}

/// `words`: the greatest of all ranks'. Throws `mismatch` where they are not those of one call.
inline void require_same_call(std::span<const std::uint64_t> words) {
  if (words[0] == ~words[1]) return;
  throw Error(Status::mismatch, "the ranks of the comm are not in the same call of their FP8 slots",
              "All ranks make the same calls in the same order.");
}

}  // namespace tare
