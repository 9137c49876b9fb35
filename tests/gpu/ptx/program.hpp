// A kernel as the interpreter runs it: PTX's instructions, names resolved, calls written out where they stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/ptx/text.hpp"

namespace tare::kernels::ptx {

struct Type {
  char kind = 'b';  ///< b, u, s, f as PTX has them; p: a predicate
  int bits = 32;

  bool is_float() const { return kind == 'f'; }
  bool is_signed() const { return kind == 's'; }
  std::size_t bytes() const { return static_cast<std::size_t>(bits / 8); }
};

/// "u32" and such; bits 0: no type.
Type type_of(const std::string& word);

enum class Op {
  mov,
  pack,
  unpack,
  cvta,
  add,
  sub,
  mul,
  mul_wide,
  mul_lo,
  mad_lo,
  fma,
  div,
  rem,
  neg,
  abs,
  sqrt,
  rcp,
  rcp_approx,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shl,
  shr,
  min,
  max,
  selp,
  setp,
  cvt,
  cvt_fp8,
  cvt_pair,
  set_pair,
  add_pair,
  max_pair,
  prmt,
  bfi,
  ld,
  st,
  atom_add,
  atom_max,
  bra,
  ret,
  bar,
  membar,
  shfl
};
enum class Compare { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Space { generic, global, shared, local, param };
enum class Rounding { none, nearest, to_zero, down };

struct Operand {
  enum class Kind { none, reg, immediate, symbol } kind = Kind::none;
  int index = -1;           ///< of the register or symbol
  std::uint64_t value = 0;  ///< the immediate, or what is added to the address
};

struct Instruction {
  Op op = Op::mov;
  Type type;
  Type from;  ///< cvt
  Compare compare = Compare::eq;
  Space space = Space::generic;
  Rounding rounding = Rounding::none;
  int width = 1;     ///< values of a load or store
  int mantissa = 0;  ///< cvt_fp8, cvt_pair: its bits
  bool past_first_cache = false;
  int guard = -1;  ///< a predicate register
  bool guard_negated = false;
  std::string label;  ///< bra: where to
  int target = -1;    ///< the label's instruction
  std::vector<Operand> results;
  std::vector<Operand> operands;
  int line = 0;
  std::uint64_t runs = 0;
};

struct Symbol {
  Space space;
  std::size_t offset;
  std::size_t size;
};

struct Kernel {
  std::string name;
  std::string file;
  std::vector<Instruction> code;
  std::vector<Type> registers;
  std::vector<Symbol> symbols;
  std::map<std::string, int> register_of, symbol_of, labels;
  std::size_t params = 0, shared = 0, local = 0;  ///< bytes; of locals, a lane's
  unsigned most_threads = 0;                      ///< 0: not said
  std::uint64_t launches = 0;
};

/// The registers that tell a lane where it is stand first, in this order.
inline constexpr const char* special_registers[] = {"%tid.x", "%ctaid.x", "%nctaid.x", "%ntid.x", "%laneid"};
inline constexpr int special_count = 5;

/// The entries of a module. Throws std::runtime_error on anything that is not understood.
std::vector<std::unique_ptr<Kernel>> read_module(const std::string& path);

/// A statement, where names of registers and symbols begin with `prefix`. Throws likewise.
class InstructionReader {
 public:
  InstructionReader(Kernel& kernel, const std::string& prefix) : kernel_(kernel), prefix_(prefix) {}
  Instruction read(const Statement& statement) const;

 private:
  struct Words;
  Operand operand(const std::string& text) const;
  Operand address(const std::string& text) const;
  std::vector<Operand> list(const std::string& text) const;
  void read_plain(const Words& words, Instruction& into) const;
  void read_mov(const Words& words, Instruction& into) const;
  void read_setp(const Words& words, Instruction& into) const;
  void read_cvt(const Words& words, Instruction& into) const;
  void read_pair(const Words& words, Instruction& into) const;
  void read_memory(const Words& words, Instruction& into) const;
  void read_atom(const Words& words, Instruction& into) const;
  void read_control(const Words& words, Instruction& into) const;

  Kernel& kernel_;
  const std::string& prefix_;
};

}  // namespace tare::kernels::ptx
