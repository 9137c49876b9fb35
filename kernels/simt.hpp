// Blocks and warps, for the device and, lane after lane, for the host. What a kernel does is written once, as steps
// that each warp or lane takes on its own and exchanges between lanes; the host's tests run the very same code and get
// the same bits. On the device a PerLane is the thread's own register, on the host an array of 32.
#pragma once

#include <cstdint>

#include "kernels/host_device.hpp"

namespace tare::kernels::cuda {

inline constexpr int warp_lanes = 32;
inline constexpr int block_warps = 8;  ///< in a block
inline constexpr int threads = warp_lanes * block_warps;

#if defined(__CUDA_ARCH__)
#define TARE_LANES_HERE 1
#else
#define TARE_LANES_HERE 32
#endif

/// A value of each lane of a warp. `value[i]` is that of lane `lane_at(i)`, for i below TARE_LANES_HERE.
template <class T>
struct PerLane {
  T value[TARE_LANES_HERE];
};

#if defined(__CUDA_ARCH__)
#define TARE_WARPS_HERE 1
#else
#define TARE_WARPS_HERE 8
#endif

/// What each warp of a block keeps from step to step.
template <class T>
class PerWarp {
 public:
  TARE_HD T& of(int warp) { return of_[warp % TARE_WARPS_HERE]; }

 private:
  static_assert(TARE_WARPS_HERE == 1 || TARE_WARPS_HERE == block_warps);
  T of_[TARE_WARPS_HERE];
};

TARE_HD inline int lane_at(int i) {
#if defined(__CUDA_ARCH__)
  return static_cast<int>(threadIdx.x % warp_lanes);
#else
  return i;
#endif
}

/// Calls `body(i)` for every lane that is here.
template <class Body>
TARE_HD inline void each_lane(const Body& body) {
  for (int i = 0; i < TARE_LANES_HERE; ++i) body(i);
}

namespace detail {

/// Hands each lane the value of lane `source(lane)`; `at(i)` refers to a value, `take(value, other)` gives the new one.
template <class At, class Source, class Take>
TARE_HD inline void exchange(const At& at, const Source& source, const Take& take) {
#if defined(__CUDA_ARCH__)
  auto& mine = at(0);
  mine = take(mine, __shfl_sync(0xffffffffu, mine, source(lane_at(0))));
#else
  using Value = decltype(take(at(0), at(0)));
  Value before[warp_lanes];
  for (int i = 0; i < warp_lanes; ++i) before[i] = at(i);
  for (int i = 0; i < warp_lanes; ++i) at(i) = take(before[i], before[source(i)]);
#endif
}

}  // namespace detail

/// Each lane's value becomes `combine(own, that of the lane whose number differs in the bits of `mask`)`.
template <class At, class Combine>
TARE_HD inline void combine_across(int mask, const At& at, const Combine& combine) {
  detail::exchange(
      at, [mask](int lane) { return lane ^ mask; }, combine);
}

/// Each lane gets the value of another lane.
template <class At, class Source>
TARE_HD inline void take_from(const At& at, const Source& source) {
  detail::exchange(at, source, [](auto, auto other) { return other; });
}

template <class T>
TARE_HD inline T larger(T a, T b) {
  return a < b ? b : a;
}

template <class T>
TARE_HD inline T smaller(T a, T b) {
  return a < b ? a : b;
}

/// Does `body` with j = 0 ... Count - 1, unrolled.
template <int Count, class Body>
TARE_HD inline void unrolled(const Body& body) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int j = 0; j < Count; ++j) body(j);
}

/// And with j = 0 ... count - 1, in a loop that stays one.
template <class Body>
TARE_HD inline void rolled(std::uint32_t count, const Body& body) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (std::uint32_t j = 0; j < count; ++j) body(j);
}

/// Adds to what other blocks add to, too.
TARE_HD inline void add_count(std::uint64_t* to, std::uint64_t count) {
#if defined(__CUDA_ARCH__)
  if (count != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(count));
#else
  *to += count;
#endif
}

/// What a thread has written to global memory is there, for all blocks, before what it does next.
TARE_HD inline void publish() {
#if defined(__CUDA_ARCH__)
  __threadfence();
#endif
}

/// A block at work. On the host the warps of a step run one after another.
struct Block {
  std::uint32_t index;
  std::uint32_t blocks;

  /// A step of all warps; what they wrote to shared memory is there for the next.
  template <class Step>
  TARE_HD void each_warp(const Step& step) const {
#if defined(__CUDA_ARCH__)
    step(static_cast<int>(threadIdx.x / warp_lanes));
    __syncthreads();
#else
    for (int warp = 0; warp < block_warps; ++warp) step(warp);
#endif
  }

  /// As each_warp, of what no other warp looks at: none waits.
  template <class Step>
  TARE_HD void each_warp_alone(const Step& step) const {
#if defined(__CUDA_ARCH__)
    step(static_cast<int>(threadIdx.x / warp_lanes));
#else
    for (int warp = 0; warp < block_warps; ++warp) step(warp);
#endif
  }

  /// A step of the first warp, or of its first thread alone: what it writes to shared memory is its own.
  template <class Step>
  TARE_HD void in_first_warp(const Step& step) const {
#if defined(__CUDA_ARCH__)
    if (threadIdx.x < warp_lanes) step();
#else
    step();
#endif
  }
  template <class Step>
  TARE_HD void in_one_thread(const Step& step) const {
#if defined(__CUDA_ARCH__)
    if (threadIdx.x == 0) step();
#else
    step();
#endif
  }

  /// True in one block alone: the last of all to come here. It sees what the first threads of all others wrote to
  /// global memory before, and what other threads published in an each_warp before.
  TARE_HD bool is_last(std::uint32_t* ticket, std::uint32_t& shared) const {
#if defined(__CUDA_ARCH__)
    if (threadIdx.x == 0) {
      publish();
      shared = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const bool last = shared + 1 == blocks;
    if (last) __threadfence();
    return last;
#else
    shared = (*ticket)++;
    return shared + 1 == blocks;
#endif
  }
};

/// A block's next item, once each has had one by its number: asked for at once, there when it is needed.
class NextItem {
 public:
  TARE_HD NextItem(std::uint32_t* cursor, const Block& block) : first_(block.blocks) {
#if defined(__CUDA_ARCH__)
    taken_ = threadIdx.x == 0 ? atomicAdd(cursor, 1u) : 0;
#else
    taken_ = (*cursor)++;
#endif
  }
  /// In a step of all warps: it is there for the next.
  TARE_HD void leave(std::uint32_t& shared) const {
#if defined(__CUDA_ARCH__)
    if (threadIdx.x != 0) return;
#endif
    shared = first_ + taken_;
  }

 private:
  std::uint32_t first_;
  std::uint32_t taken_;
};

/// Does `step(item, warp, turn)` with all warps of a block, and then `rest(item, turn)`, item after item until none is
/// left. Turns are 0 and 1: what was left in shared memory in one is there until the end of the next one's step.
template <class Step, class Rest>
TARE_HD inline void each_item(const Block& block, std::uint32_t items, std::uint32_t* cursor, std::uint32_t (&next)[2],
                              const Step& step, const Rest& rest) {
  int turn = 0;
  for (std::uint32_t item = block.index; item < items; turn ^= 1) {
    const NextItem following(cursor, block);
    block.each_warp([&](int warp) {
      step(item, warp, turn);
      following.leave(next[turn]);
    });
    rest(item, turn);
    item = next[turn];
  }
}

/// Reads what other blocks of the same launch wrote: past the first-level cache, which does not see it.
template <class T>
TARE_HD inline T load_shared_global(const T* at) {
#if defined(__CUDA_ARCH__)
  return __ldcg(at);
#else
  return *at;
#endif
}

}  // namespace tare::kernels::cuda
