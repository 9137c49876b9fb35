// What an instruction does in one lane.
#include <cstring>

#include "tests/gpu/ptx/machine.hpp"
#include "tests/gpu/ptx/values.hpp"

namespace tare::kernels::ptx {
namespace {

constexpr std::uint64_t rubbish = 0xdeadbeefdeadbeef;  // where a load had no right to be

std::uint64_t bits_at(const unsigned char* from, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, size);
  return bits;
}

std::size_t index_of(const Operand& operand, int lane) {
  return static_cast<std::size_t>(operand.index) * lane_count + static_cast<std::size_t>(lane);
}

}  // namespace

std::uint64_t Machine::value(const Operand& operand, const Warp& warp, int lane) const {
  if (operand.kind == Operand::Kind::immediate) return operand.value;
  if (operand.kind == Operand::Kind::symbol) return address_of(operand.index, warp, lane);
  const std::size_t index = index_of(operand, lane);
  if (!warp.set.empty() && warp.set[index] == 0) refuse(kernel_.name + ": a register is read before it is set");
  return warp.registers[index];
}

std::uint64_t Machine::address_of(int symbol, const Warp& warp, int lane) const {
  const Symbol& named = kernel_.symbols[static_cast<std::size_t>(symbol)];
  if (named.space == Space::shared) return named.offset;
  if (named.space == Space::param) return reinterpret_cast<std::uint64_t>(params_ + named.offset);
  return reinterpret_cast<std::uint64_t>(warp.locals.data() + kernel_.local * static_cast<std::size_t>(lane) +
                                         named.offset);
}

void Machine::put(const Operand& result, Warp& warp, int lane, std::uint64_t value) const {
  const std::size_t index = index_of(result, lane);
  warp.registers[index] = value & mask_of(kernel_.registers[static_cast<std::size_t>(result.index)].bits);
  if (!warp.set.empty()) warp.set[index] = 1;
}

void Machine::run_lane(const Instruction& instruction, BlockState& block, Warp& warp, int lane) {
  switch (instruction.op) {
    case Op::ld:
    case Op::st:
      return access(instruction, block, warp, lane);
    case Op::atom_add:
    case Op::atom_max:
      return add_atomically(instruction, block, warp, lane);
    case Op::membar:
      if (options().watches)
        fenced_at({block.index, warp.first_thread + static_cast<std::uint32_t>(lane)}) = watch_.tick();
      return;
    case Op::pack: {
      const int bits = instruction.type.bits / static_cast<int>(instruction.operands.size());
      std::uint64_t packed = 0;
      for (std::size_t i = instruction.operands.size(); i-- > 0;) {
        packed = packed << bits | (value(instruction.operands[i], warp, lane) & mask_of(bits));
      }
      return put(instruction.results[0], warp, lane, packed);
    }
    case Op::unpack: {
      const int bits = instruction.type.bits / static_cast<int>(instruction.results.size());
      std::uint64_t packed = value(instruction.operands[0], warp, lane);
      for (const Operand& result : instruction.results) {
        put(result, warp, lane, packed & mask_of(bits));
        packed >>= bits;
      }
      return;
    }
    default: {
      std::uint64_t operands[4] = {};
      for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        operands[i] = value(instruction.operands[i], warp, lane);
      }
      return put(instruction.results[0], warp, lane, computed(instruction, operands));
    }
  }
}

void Machine::access(const Instruction& instruction, BlockState& block, Warp& warp, int lane) {
  const Operand& base = instruction.operands[0];
  const std::uint64_t address = value(base, warp, lane) + base.value;
  const std::size_t each = instruction.type.bytes();
  unsigned char* at =
      place(instruction, block, warp, lane, address, each * static_cast<std::size_t>(instruction.width));
  if (instruction.op == Op::ld) return load(instruction, at, warp, lane);
  if (at == nullptr) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(instruction.width); ++i) {
    const std::uint64_t bits = value(instruction.operands[1 + i], warp, lane);
    std::memcpy(at + i * each, &bits, each);
  }
}

/// `from` null: rubbish.
void Machine::load(const Instruction& instruction, const unsigned char* from, Warp& warp, int lane) const {
  const std::size_t each = instruction.type.bytes();
  for (std::size_t i = 0; i < instruction.results.size(); ++i) {
    std::uint64_t bits = from == nullptr ? rubbish & mask_of(instruction.type.bits) : bits_at(from + i * each, each);
    if (instruction.type.is_signed()) bits = static_cast<std::uint64_t>(signed_of(bits, instruction.type.bits));
    put(instruction.results[i], warp, lane, bits);
  }
}

/// Null where there is nothing to touch, which is told.
unsigned char* Machine::place(const Instruction& instruction, BlockState& block, Warp& warp, int lane,
                              std::uint64_t address, std::size_t size) {
  const bool stores = instruction.op == Op::st;
  if (address % size != 0) {
    fault(kernel_, instruction, std::to_string(size) + " bytes are not aligned");
    return nullptr;
  }
  if (instruction.space == Space::shared) {
    if (address + size > block.shared.size()) {
      fault(kernel_, instruction, "beyond shared memory");
      return nullptr;
    }
    block.shared.touch(kernel_, instruction, address, size, warp.first_thread + static_cast<std::uint32_t>(lane));
    return block.shared.data() + address;
  }
  auto* at = reinterpret_cast<unsigned char*>(address);
  if (at >= params_ && at + size <= params_ + kernel_.params) {
    if (stores) fault(kernel_, instruction, "a store to parameters");
    return at;
  }
  const unsigned char* locals = warp.locals.data() + kernel_.local * static_cast<std::size_t>(lane);
  if (at >= locals && at + size <= locals + kernel_.local) return at;
  // A vector of 16 bytes that begins in an allocation may be read: it lies in one page, and its end is not used.
  const bool is_readable = !stores && size == 16 && device_memory().contain(address, 1);
  if (!is_readable && !device_memory().contain(address, size)) {
    fault(kernel_, instruction, std::string(stores ? "a store" : "a load") + " outside of any allocation");
    return nullptr;
  }
  watch(instruction, block, warp, lane, address, size);
  return at;
}

void Machine::watch(const Instruction& instruction, const BlockState& block, const Warp& warp, int lane,
                    std::uint64_t address, std::size_t size) {
  if (!options().watches) return;
  const Thread me{block.index, warp.first_thread + static_cast<std::uint32_t>(lane)};
  watch_.touch(kernel_, instruction, address, size, me, [&](const Thread& thread) { return fenced_at(thread); });
}

void Machine::add_atomically(const Instruction& instruction, BlockState& block, Warp& warp, int lane) {
  const Operand& base = instruction.operands[0];
  const std::uint64_t address = value(base, warp, lane) + base.value;
  const std::size_t size = instruction.type.bytes();
  if (address % size != 0 || !device_memory().contain(address, size)) {
    return fault(kernel_, instruction, "an atomic access outside of any allocation, or not aligned");
  }
  watch(instruction, block, warp, lane, address, size);
  auto* at = reinterpret_cast<unsigned char*>(address);
  const std::uint64_t old = bits_at(at, size);
  const std::uint64_t given = value(instruction.operands[1], warp, lane) & mask_of(instruction.type.bits);
  const std::uint64_t now = instruction.op == Op::atom_add ? old + given : std::max(old, given);
  std::memcpy(at, &now, size);
  put(instruction.results[0], warp, lane, old);
}

}  // namespace tare::kernels::ptx
