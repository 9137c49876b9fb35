#include "tests/gpu/ptx/machine.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdlib>
#include <numeric>

#include "tests/gpu/ptx/values.hpp"

namespace tare::kernels::ptx {
namespace {

constexpr std::size_t together = 3;  // blocks
constexpr int ends_turn = -2;

std::mt19937& random() {
  static std::mt19937 generator(options().seed);
  return generator;
}

template <class Body>
void each_lane(std::uint32_t lanes, const Body& body) {
  for (; lanes != 0; lanes &= lanes - 1) body(std::countr_zero(lanes));
}

void advance(Warp& warp, std::uint32_t lanes, int pc) {
  each_lane(lanes, [&](int lane) { warp.pc[lane] = pc; });
}

}  // namespace

const Options& options() {
  static const Options read = [] {
    Options given;
    if (const char* seed = std::getenv("PTX_SEED")) given.seed = static_cast<unsigned>(std::atoi(seed));
    given.scatters = std::getenv("PTX_SCATTER") != nullptr;
    given.watches = std::getenv("PTX_WATCH") != nullptr;
    given.minds_unset = std::getenv("PTX_UNSET") != nullptr;
    return given;
  }();
  return read;
}

Machine::Machine(Kernel& kernel, const unsigned char* params, unsigned blocks, unsigned threads)
    : kernel_(kernel), params_(params), blocks_(blocks), threads_(threads) {
  if (blocks == 0 || threads == 0 || threads > 1024) refuse("a launch of nothing, or of too much");
  if (kernel.most_threads != 0 && threads > kernel.most_threads) refuse("more threads than .maxntid");
  if (options().watches) fenced_at_.resize(std::size_t{blocks} * threads);
  ++kernel.launches;
}

void Machine::run() {
  std::vector<std::uint32_t> order(blocks_);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random());
  std::vector<std::unique_ptr<BlockState>> live;
  while (!order.empty() || !live.empty()) {
    while (live.size() < together && !order.empty()) {
      live.push_back(block(order.back()));
      order.pop_back();
    }
    const std::size_t chosen = random()() % live.size();
    const bool moved = run_some(*live[chosen]);
    const bool is_done = std::ranges::none_of(live[chosen]->warps, [](const Warp& warp) { return warp.alive != 0; });
    if (!is_done && !moved) refuse("deadlock in " + kernel_.name);
    if (!is_done) continue;
    done_.push_back(std::move(live[chosen]));
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
}

std::unique_ptr<BlockState> Machine::block(std::uint32_t index) {
  std::unique_ptr<BlockState> begun;
  if (done_.empty()) {
    begun = std::make_unique<BlockState>(BlockState{index, SharedMemory(0), std::vector<Warp>((threads_ + 31) / 32)});
  } else {
    begun = std::move(done_.back());
    done_.pop_back();
  }
  begun->index = index;
  begun->shared = SharedMemory(kernel_.shared);
  for (std::uint32_t i = 0; i < begun->warps.size(); ++i) begin(begun->warps[i], index, i * lane_count);
  return begun;
}

void Machine::begin(Warp& warp, std::uint32_t block, std::uint32_t first_thread) const {
  warp.first_thread = first_thread;
  if (!warp.registers)
    warp.registers = std::make_unique_for_overwrite<std::uint64_t[]>(kernel_.registers.size() * lane_count);
  if (options().minds_unset) warp.set.assign(kernel_.registers.size() * lane_count, 0);
  warp.locals.resize(kernel_.local * lane_count, 0xee);
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    warp.pc[lane] = 0;
    if (first_thread + lane < threads_) warp.alive |= 1u << lane;
    const std::uint64_t specials[special_count] = {first_thread + lane, block, blocks_, threads_, lane};
    for (int i = 0; i < special_count; ++i) put({Operand::Kind::reg, i, 0}, warp, static_cast<int>(lane), specials[i]);
  }
}

/// Lets one warp run for a while, from a random one on; false where none can.
bool Machine::run_some(BlockState& block) {
  const std::size_t from = random()() % block.warps.size();
  const std::uint64_t steps = 1 + random()() % (options().scatters ? 400 : 4000);
  for (std::size_t i = 0; i < block.warps.size(); ++i) {
    if (run_warp(block, block.warps[(from + i) % block.warps.size()], steps)) return true;
  }
  return false;
}

bool Machine::run_warp(BlockState& block, Warp& warp, std::uint64_t steps) {
  bool moved = false;
  while (steps > 0) {
    const std::uint32_t ready = warp.alive & ~warp.at_barrier & ~warp.at_shuffle;
    if (ready == 0) return moved;
    int pc = choose(warp, ready);
    std::uint32_t group = 0;
    int others = INT_MAX;  // where the group meets some
    each_lane(ready, [&](int lane) {
      if (warp.pc[lane] == pc) {
        group |= 1u << lane;
      } else if (warp.pc[lane] > pc) {
        others = std::min(others, warp.pc[lane]);
      }
    });
    std::uint64_t turn = options().scatters ? std::min<std::uint64_t>(steps, 1 + random()() % 40) : steps;
    for (; turn > 0 && pc >= 0 && pc < others; --turn, --steps) {
      pc = step(block, warp, group, pc);
      moved = true;
    }
    if (pc == ends_turn) return true;
  }
  return moved;
}

/// The place of the lanes that go on: those furthest behind, or any.
int Machine::choose(const Warp& warp, std::uint32_t ready) const {
  int pc = INT_MAX;
  if (options().scatters) {
    for (auto skipped = random()() % static_cast<unsigned>(std::popcount(ready)); skipped > 0; --skipped)
      ready &= ready - 1;
    return warp.pc[std::countr_zero(ready)];
  }
  each_lane(ready, [&](int lane) { pc = std::min(pc, warp.pc[lane]); });
  return pc;
}

int Machine::step(BlockState& block, Warp& warp, std::uint32_t group, int pc) {
  Instruction& instruction = kernel_.code[static_cast<std::size_t>(pc)];
  ++instruction.runs;
  std::uint32_t active = group;
  if (instruction.guard >= 0) {
    each_lane(group, [&](int lane) {
      const bool holds = value({Operand::Kind::reg, instruction.guard, 0}, warp, lane) != 0;
      if (holds == instruction.guard_negated) active &= ~(1u << lane);
    });
  }
  const bool parts = active != group;
  switch (instruction.op) {
    case Op::bra:
      return branch(warp, group, active, instruction, pc);
    case Op::ret:
      warp.alive &= ~active;
      advance(warp, group & ~active, pc + 1);
      pass_barrier(block);
      return -1;
    case Op::bar:
      if (parts) refuse("a guarded barrier");
      warp.at_barrier |= active;
      advance(warp, group, pc + 1);
      pass_barrier(block);
      return -1;
    case Op::shfl:
      if (parts) refuse("a guarded shuffle");
      shuffle(instruction, warp, active, pc);
      return -1;
    case Op::membar:  // others may write between it and what it stands for
      each_lane(active, [&](int lane) { run_lane(instruction, block, warp, lane); });
      advance(warp, group, pc + 1);
      return ends_turn;
    default:
      each_lane(active, [&](int lane) { run_lane(instruction, block, warp, lane); });
      advance(warp, group, pc + 1);
      return pc + 1;
  }
}

int Machine::branch(Warp& warp, std::uint32_t group, std::uint32_t taken, const Instruction& instruction,
                    int pc) const {
  advance(warp, taken, instruction.target);
  advance(warp, group & ~taken, pc + 1);
  return taken == group ? instruction.target : taken == 0 ? pc + 1 : -1;
}

/// Where all threads that are left have come to it.
void Machine::pass_barrier(BlockState& block) const {
  bool anybody = false;
  for (const Warp& warp : block.warps) {
    if ((warp.alive & ~warp.at_barrier) != 0) return;
    anybody = anybody || warp.at_barrier != 0;
  }
  for (Warp& warp : block.warps) warp.at_barrier = 0;
  if (anybody) block.shared.pass_barrier();
}

/// Lanes wait until all named ones are there.
void Machine::shuffle(const Instruction& instruction, Warp& warp, std::uint32_t group, int pc) {
  const auto& [given, source, clamp, named] =
      std::tie(instruction.operands[0], instruction.operands[1], instruction.operands[2], instruction.operands[3]);
  const auto members = static_cast<std::uint32_t>(value(named, warp, std::countr_zero(group)));
  each_lane(group, [&](int lane) {
    if (value(named, warp, lane) != members) refuse("lanes of a shuffle name different members");
    if ((members >> lane & 1) == 0) refuse("a lane shuffles that is no member");
  });
  if ((members & ~warp.alive) != 0) refuse("a shuffle waits for a lane that has ended");
  warp.at_shuffle |= group;
  std::uint32_t here = 0;
  each_lane(warp.at_shuffle, [&](int lane) { here |= warp.pc[lane] == pc ? 1u << lane : 0; });
  if ((here & members) != members) return;
  std::uint64_t got[lane_count] = {};
  bool in_range[lane_count] = {};
  each_lane(members, [&](int lane) {
    const auto c = static_cast<std::uint32_t>(value(clamp, warp, lane));
    const int segment = static_cast<int>(c >> 8 & 31);
    const int last = (lane & segment) | (static_cast<int>(c & 31) & ~segment);
    const int wanted = (lane & segment) | (static_cast<int>(value(source, warp, lane) & 31) & ~segment);
    in_range[lane] = wanted <= last;
    const int from = in_range[lane] ? wanted : lane;
    if ((members >> from & 1) == 0) refuse("a shuffle from a lane that is no member");
    got[lane] = value(given, warp, from);
  });
  each_lane(members, [&](int lane) {
    put(instruction.results[0], warp, lane, got[lane]);
    if (instruction.results.size() > 1) put(instruction.results[1], warp, lane, in_range[lane] ? 1 : 0);
    warp.pc[lane] = pc + 1;
  });
  warp.at_shuffle &= ~members;
}

}  // namespace tare::kernels::ptx
