// A GPU that runs PTX: lanes with program counters of their own, warps and blocks in random turns, three blocks at a
// time.
#pragma once

#include <memory>
#include <random>

#include "tests/gpu/ptx/memory.hpp"
#include "tests/gpu/ptx/program.hpp"

namespace tare::kernels::ptx {

inline constexpr int lane_count = 32;

/// From the environment: PTX_SEED=n; PTX_SCATTER=1 (a warp's lanes part and meet at random); PTX_WATCH=1 (what blocks
/// write for each other, see Watch); PTX_UNSET=1 (registers that are read before they are set).
struct Options {
  unsigned seed = 1;
  bool scatters = false;
  bool watches = false;
  bool minds_unset = false;
};
const Options& options();

struct Warp {
  std::unique_ptr<std::uint64_t[]> registers;  // 32 of each; megabytes, of which few are touched: not filled
  std::vector<unsigned char> set;              // likewise, where unset ones are minded
  std::vector<unsigned char> locals;
  int pc[lane_count];
  std::uint32_t alive = 0, at_barrier = 0, at_shuffle = 0;  // lanes
  std::uint32_t first_thread = 0;
};

struct BlockState {
  std::uint32_t index;
  SharedMemory shared;
  std::vector<Warp> warps;
};

/// One launch.
class Machine {
 public:
  Machine(Kernel& kernel, const unsigned char* params, unsigned blocks, unsigned threads);
  /// Throws std::runtime_error for a deadlock, and for what is undefined on a GPU.
  void run();

 private:
  /// A block at its beginning, in the memory of one that is done, if there is one: registers hold what that left.
  std::unique_ptr<BlockState> block(std::uint32_t index);
  void begin(Warp& warp, std::uint32_t block, std::uint32_t first_thread) const;
  std::uint64_t& fenced_at(const Thread& thread) { return fenced_at_[thread.block * threads_ + thread.number]; }
  bool run_some(BlockState& block);
  bool run_warp(BlockState& block, Warp& warp, std::uint64_t steps);
  int choose(const Warp& warp, std::uint32_t ready) const;
  /// Lets a group of lanes do one instruction; the next one's place, or less than 0 where lanes part or wait, or others
  /// shall have a turn.
  int step(BlockState& block, Warp& warp, std::uint32_t group, int pc);
  int branch(Warp& warp, std::uint32_t group, std::uint32_t taken, const Instruction& instruction, int pc) const;
  void pass_barrier(BlockState& block) const;
  void shuffle(const Instruction& instruction, Warp& warp, std::uint32_t group, int pc);

  std::uint64_t value(const Operand& operand, const Warp& warp, int lane) const;
  std::uint64_t address_of(int symbol, const Warp& warp, int lane) const;
  void put(const Operand& result, Warp& warp, int lane, std::uint64_t value) const;
  void run_lane(const Instruction& instruction, BlockState& block, Warp& warp, int lane);
  void access(const Instruction& instruction, BlockState& block, Warp& warp, int lane);
  void add_atomically(const Instruction& instruction, BlockState& block, Warp& warp, int lane);
  unsigned char* place(const Instruction& instruction, BlockState& block, Warp& warp, int lane, std::uint64_t address,
                       std::size_t size);
  void load(const Instruction& instruction, const unsigned char* from, Warp& warp, int lane) const;
  void watch(const Instruction& instruction, const BlockState& block, const Warp& warp, int lane, std::uint64_t address,
             std::size_t size);

  Kernel& kernel_;
  const unsigned char* params_;
  unsigned blocks_, threads_;
  std::vector<std::unique_ptr<BlockState>> done_;
  std::vector<std::uint64_t> fenced_at_;  // of each thread, as the watch counts
  Watch watch_;
};

}  // namespace tare::kernels::ptx
