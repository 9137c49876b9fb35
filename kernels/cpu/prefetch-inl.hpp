// Memory that is asked for before it is needed: a CPU that also calculates does not look far enough ahead by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/elements-inl.hpp"
#include "kernels/fold.hpp"

HWY_BEFORE_NAMESPACE();
namespace tare::kernels::cpu::HWY_NAMESPACE {

/// For a single stream. Behind pieces that are small there may be anything: theirs is left to the CPU.
class Prefetcher {
  static constexpr std::size_t ahead = 2560;
  static constexpr std::size_t line = 64;
  static constexpr std::size_t page = 4096;
  // Not one of the first lines of a page, which tell the CPU that another is read: those are to be new to it.
  static constexpr std::size_t pages_ahead = 8 * page + page / 2;

 public:
  explicit HWY_INLINE Prefetcher(std::size_t piece_bytes) : is_large_(piece_bytes >= 8 * ahead) {}

  /// To be called for each of the blocks, which are `Size` long.
  template <std::size_t Size>
  HWY_INLINE void advance(const void* block) const {
    const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(block) + (is_large_ ? ahead : 0);
#pragma GCC unroll 32
    for (std::size_t i = 0; i < Size; i += line) ask_for(from + i);
  }

  /// To be called before blocks of together `bytes`. To learn where a page lies takes longer than to read a line: that
  /// is asked for much earlier, by a line of each page.
  HWY_INLINE void advance_pages(const void* at, std::size_t bytes) const {
    if (!is_large_) return;
    const std::size_t to_next = -reinterpret_cast<std::uintptr_t>(at) % page;
    const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(at) + pages_ahead;
    for (std::size_t i = to_next; i < bytes; i += page) ask_for(from + i);
  }

 private:
  /// What is ahead may lie behind the end of an array: an address there is no pointer that C++ lets one form.
  static HWY_INLINE void ask_for(std::uintptr_t address) {
    __builtin_prefetch(reinterpret_cast<const void*>(address));
  }

  bool is_large_;
};

/// For two whole pieces of bytes, one behind the other.
class TwoPrefetcher {
 public:
  template <std::size_t Size>
  HWY_INLINE void advance(const void* block) const {
    each_.advance<Size>(block);
    each_.advance<Size>(static_cast<const char*>(block) + piece_elements(1));
  }

 private:
  Prefetcher each_{piece_elements(1)};
};

/// For several streams at once, which the CPU follows by itself.
struct NoPrefetcher {
  template <std::size_t>
  HWY_INLINE void advance(const void*) const {}
};

}  // namespace tare::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
