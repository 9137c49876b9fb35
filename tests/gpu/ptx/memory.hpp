// Memory that kernels touch: what is theirs to touch, and, where it is asked for, who in a launch wrote what, and
// whether others may see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "tests/gpu/ptx/program.hpp"

namespace tare::kernels::ptx {

/// Prints what an instruction did wrong; the launch fails when it ends. After 200 it fails at once.
void fault(const Kernel& kernel, const Instruction& instruction, const std::string& what);
std::size_t faults();

/// Allocations of device memory.
class Ranges {
 public:
  void add(const void* data, std::size_t size);
  void remove(const void* data);
  bool contain(std::uint64_t address, std::size_t size) const;

 private:
  std::map<std::uint64_t, std::size_t> ranges_;
  mutable std::uint64_t first_ = 1, end_ = 0;  // the range that was hit last
};
Ranges& device_memory();

/// A thread of a launch.
struct Thread {
  std::uint32_t block;
  std::uint32_t number;
};

/// Who wrote each byte of global memory in this launch, and when.
class Watch {
 public:
  std::uint64_t tick() { return ++now_; }
  /// `fenced_at(thread)`: when a thread passed its last fence.
  template <class FencedAt>
  void touch(const Kernel& kernel, const Instruction& instruction, std::uint64_t address, std::size_t size,
             const Thread& me, const FencedAt& fenced_at) {
    const bool is_atomic = instruction.op == Op::atom_add || instruction.op == Op::atom_max;
    const bool writes = is_atomic || instruction.op == Op::st;
    const std::uint64_t now = tick();
    for (std::uint64_t at = address; at < address + size; ++at) {
      const auto found = written_.find(at);
      if (found != written_.end() && found->second.writer.block != me.block) {
        const Written& other = found->second;
        const bool is_behind_fences = fenced_at(other.writer) > other.time && fenced_at(me) > other.time;
        judge(kernel, instruction, writes, other.atomically && (is_atomic || instruction.past_first_cache),
              is_behind_fences);
      }
      if (writes) written_[at] = {me, now, is_atomic};
    }
  }

 private:
  struct Written {
    Thread writer;
    std::uint64_t time;
    bool atomically;
  };
  static void judge(const Kernel& kernel, const Instruction& instruction, bool writes, bool is_between_atomics,
                    bool is_behind_fences);

  std::unordered_map<std::uint64_t, Written> written_;
  std::uint64_t now_ = 0;
};

/// Who touched each byte of a block's shared memory between two barriers.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size) : bytes_(size, 0xcd), touched_(size) {}
  unsigned char* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  void pass_barrier() { ++epoch_; }
  void touch(const Kernel& kernel, const Instruction& instruction, std::uint64_t address, std::size_t size,
             std::uint32_t thread);

 private:
  static constexpr std::uint32_t nobody = ~0u;
  static constexpr std::uint32_t several = ~0u - 1;
  struct Touched {
    std::uint32_t writer = nobody, written_in = 0;
    std::uint32_t reader = nobody, read_in = 0;
  };

  std::vector<unsigned char> bytes_;
  std::vector<Touched> touched_;
  std::uint32_t epoch_ = 1;
};

}  // namespace tare::kernels::ptx
