#include "tests/gpu/ptx/memory.hpp"

#include <cstdio>
#include <stdexcept>

namespace tare::kernels::ptx {
namespace {

std::size_t fault_count = 0;

}  // namespace

void fault(const Kernel& kernel, const Instruction& instruction, const std::string& what) {
  constexpr std::size_t most_told = 12;
  constexpr std::size_t most = 200;
  if (++fault_count <= most_told) {
    std::fprintf(stderr, "FAULT %s, line %d of %s: %s\n", kernel.name.c_str(), instruction.line, kernel.file.c_str(),
                 what.c_str());
  }
  if (fault_count > most) throw std::runtime_error("ptx: too many faults");
}

std::size_t faults() {
  return fault_count;
}

void Ranges::add(const void* data, std::size_t size) {
  ranges_[reinterpret_cast<std::uint64_t>(data)] = size;
  first_ = 1;
  end_ = 0;
}

void Ranges::remove(const void* data) {
  ranges_.erase(reinterpret_cast<std::uint64_t>(data));
  first_ = 1;
  end_ = 0;
}

bool Ranges::contain(std::uint64_t address, std::size_t size) const {
  if (address >= first_ && address + size <= end_) return true;
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return false;
  --next;
  first_ = next->first;
  end_ = next->first + next->second;
  return address + size <= end_;
}

Ranges& device_memory() {
  static Ranges ranges;
  return ranges;
}

/// A ticket is handed on by atomics; all else is seen by other blocks past the first cache, and behind a fence of the
/// writer's and one of the reader's.
void Watch::judge(const Kernel& kernel, const Instruction& instruction, bool writes, bool is_between_atomics,
                  bool is_behind_fences) {
  if (is_between_atomics) return;
  if (!is_behind_fences) {
    fault(kernel, instruction, "what another block wrote is touched without a fence between");
  } else if (!writes && !instruction.past_first_cache) {
    fault(kernel, instruction, "what another block wrote is read through the first cache");
  }
}

void SharedMemory::touch(const Kernel& kernel, const Instruction& instruction, std::uint64_t address, std::size_t size,
                         std::uint32_t thread) {
  const bool stores = instruction.op == Op::st;
  for (std::uint64_t at = address; at < address + size; ++at) {
    Touched& byte = touched_[at];
    const bool is_written_by_other = byte.writer != nobody && byte.writer != thread && byte.written_in == epoch_;
    const bool is_read_by_other = byte.reader != nobody && byte.reader != thread && byte.read_in == epoch_;
    if (is_written_by_other)
      fault(kernel, instruction, "shared memory: another thread wrote it since the last barrier");
    if (stores && is_read_by_other)
      fault(kernel, instruction, "shared memory: another thread read it since the last barrier");
    if (!stores && byte.writer == nobody) fault(kernel, instruction, "shared memory is read before it is written");
    if (stores) {
      byte.writer = thread;
      byte.written_in = epoch_;
    } else {
      byte.reader = byte.read_in != epoch_ || byte.reader == nobody || byte.reader == thread ? thread : several;
      byte.read_in = epoch_;
    }
  }
}

}  // namespace tare::kernels::ptx
