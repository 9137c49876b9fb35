// A statement of PTX as an Instruction. What is not in the tables is refused.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "tests/gpu/ptx/program.hpp"

namespace tare::kernels::ptx {

/// "@%p1 add.rn.f64 %fd1, %fd2, %fd3" in parts.
struct InstructionReader::Words {
  std::vector<std::string> name;       // add, rn, f64
  std::vector<std::string> arguments;  // %fd1 ...
  const std::string& text;

  bool has(const char* modifier) const { return std::ranges::find(name, modifier) != name.end(); }
  /// Every modifier that is no type must be in `known`.
  void require_known(const std::string& known) const {
    for (std::size_t i = 1; i < name.size(); ++i) {
      if (type_of(name[i]).bits == 0 && (" " + known + " ").find(" " + name[i] + " ") == std::string::npos)
        refuse(text);
    }
  }
};

namespace {

/// Instructions of one result whose operands are all values; named by their first two words where that decides.
struct Plain {
  const char* name;
  Op op;
  const char* modifiers;
};
constexpr Plain plain[] = {
    {"add", Op::add, "rn"},       {"sub", Op::sub, "rn"},    {"mul.wide", Op::mul_wide, "wide"},
    {"mul.lo", Op::mul_lo, "lo"}, {"mul.rn", Op::mul, "rn"}, {"mad.lo", Op::mad_lo, "lo"},
    {"fma.rn", Op::fma, "rn"},    {"div.rn", Op::div, "rn"}, {"div", Op::div, ""},
    {"rem", Op::rem, ""},         {"neg", Op::neg, ""},      {"abs", Op::abs, ""},
    {"sqrt.rn", Op::sqrt, "rn"},  {"rcp.rn", Op::rcp, "rn"}, {"rcp.approx", Op::rcp_approx, "approx ftz"},
    {"and", Op::bit_and, ""},     {"or", Op::bit_or, ""},    {"xor", Op::bit_xor, ""},
    {"not", Op::bit_not, ""},     {"shl", Op::shl, ""},      {"shr", Op::shr, ""},
    {"min", Op::min, ""},         {"max", Op::max, ""},      {"selp", Op::selp, ""},
    {"prmt", Op::prmt, ""},       {"bfi", Op::bfi, ""},      {"cvta", Op::cvta, "to global local shared param"},
};

const std::map<std::string, Compare> compare = {
    {"eq", Compare::eq},   {"ne", Compare::ne},   {"lt", Compare::lt},   {"le", Compare::le},   {"gt", Compare::gt},
    {"ge", Compare::ge},   {"equ", Compare::equ}, {"neu", Compare::neu}, {"ltu", Compare::ltu}, {"leu", Compare::leu},
    {"gtu", Compare::gtu}, {"geu", Compare::geu}, {"num", Compare::num}, {"nan", Compare::nan}};

Space space_in(const std::vector<std::string>& name) {
  const auto has = [&](const char* word) { return std::ranges::find(name, word) != name.end(); };
  return has("global")   ? Space::global
         : has("shared") ? Space::shared
         : has("local")  ? Space::local
         : has("param")  ? Space::param
                         : Space::generic;
}

}  // namespace

Operand InstructionReader::operand(const std::string& text) const {
  if (text.empty()) refuse(kernel_.name + ": an operand is missing");
  if (text[0] == '%') {
    auto found = kernel_.register_of.find(prefix_ + text);
    if (found == kernel_.register_of.end()) found = kernel_.register_of.find(text);  // %tid.x ...
    if (found == kernel_.register_of.end()) refuse(kernel_.name + ": no register " + prefix_ + text);
    return {Operand::Kind::reg, found->second, 0};
  }
  if (text[0] == '-') {
    return {Operand::Kind::immediate, -1, static_cast<std::uint64_t>(std::strtoll(text.c_str(), nullptr, 0))};
  }
  if (std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
    const bool is_float = text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'd');
    return {Operand::Kind::immediate, -1,
            is_float ? std::strtoull(text.c_str() + 2, nullptr, 16) : std::strtoull(text.c_str(), nullptr, 0)};
  }
  auto found = kernel_.symbol_of.find(prefix_ + text);
  if (found == kernel_.symbol_of.end()) found = kernel_.symbol_of.find(text);
  if (found == kernel_.symbol_of.end()) refuse(kernel_.name + ": no symbol " + text);
  return {Operand::Kind::symbol, found->second, 0};
}

/// "[%rd1+-4]"
Operand InstructionReader::address(const std::string& text) const {
  if (text.front() != '[' || text.back() != ']') refuse("no address: " + text);
  const std::string inner = text.substr(1, text.size() - 2);
  const std::size_t plus = inner.find('+');
  Operand base = operand(trimmed(inner.substr(0, plus)));
  if (base.kind == Operand::Kind::immediate) refuse("absolute address " + text);
  if (plus != std::string::npos) {
    base.value = static_cast<std::uint64_t>(std::strtoll(inner.c_str() + plus + 1, nullptr, 0));
  }
  return base;
}

/// "{%r1, %r2}", or one.
std::vector<Operand> InstructionReader::list(const std::string& text) const {
  if (text[0] != '{') return {operand(text)};
  std::vector<Operand> all;
  for (const std::string& one : split(text.substr(1, text.size() - 2), ',')) all.push_back(operand(one));
  return all;
}

Instruction InstructionReader::read(const Statement& statement) const {
  Instruction instruction;
  instruction.line = statement.line;
  std::string text = statement.text;
  if (text[0] == '@') {
    const std::size_t space = text.find_first_of(" \t");
    instruction.guard_negated = text[1] == '!';
    instruction.guard =
        operand(text.substr(instruction.guard_negated ? 2 : 1, space - (instruction.guard_negated ? 2 : 1))).index;
    text = trimmed(text.substr(space));
  }
  const std::size_t space = text.find_first_of(" \t");
  const std::string rest = space == std::string::npos ? "" : trimmed(text.substr(space));
  const Words words{split(text.substr(0, space), '.'), split(rest, ','), text};
  instruction.type = type_of(words.name.back());
  const std::string& name = words.name[0];
  if (words.has("f16x2") || words.has("bf16x2") || words.has("u16x2")) {
    read_pair(words, instruction);
  } else if (name == "mov") {
    read_mov(words, instruction);
  } else if (name == "setp") {
    read_setp(words, instruction);
  } else if (name == "cvt") {
    read_cvt(words, instruction);
  } else if (name == "ld" || name == "st") {
    read_memory(words, instruction);
  } else if (name == "atom") {
    read_atom(words, instruction);
  } else if (name == "bra" || name == "ret" || name == "bar" || name == "membar" || name == "shfl") {
    read_control(words, instruction);
  } else {
    read_plain(words, instruction);
  }
  return instruction;
}

void InstructionReader::read_plain(const Words& words, Instruction& into) const {
  const std::string first_two = words.name[0] + (words.name.size() > 1 ? "." + words.name[1] : "");
  const Plain* row = std::ranges::find(plain, first_two, &Plain::name);
  if (row == std::end(plain)) row = std::ranges::find(plain, words.name[0], &Plain::name);
  if (row == std::end(plain)) refuse("instruction " + words.text);
  words.require_known(row->modifiers);
  if (into.type.is_float() && (row->op == Op::rem || (row->op == Op::div && !words.has("rn")))) refuse(words.text);
  if (row->op == Op::rcp_approx && into.type.bits != 64) refuse(words.text);
  into.op = row->op;
  for (const std::string& argument : words.arguments) into.operands.push_back(operand(argument));
  into.results.push_back(into.operands.front());
  into.operands.erase(into.operands.begin());
}

void InstructionReader::read_mov(const Words& words, Instruction& into) const {
  words.require_known("");
  into.results = list(words.arguments.at(0));
  into.operands = list(words.arguments.at(1));
  into.op = words.arguments[0][0] == '{' ? Op::unpack : words.arguments[1][0] == '{' ? Op::pack : Op::mov;
}

void InstructionReader::read_setp(const Words& words, Instruction& into) const {
  if (words.name.size() != 3 || !compare.contains(words.name[1])) refuse(words.text);
  into.op = Op::setp;
  into.compare = compare.at(words.name[1]);
  into.results.push_back(operand(words.arguments.at(0)));
  for (const std::size_t i : {1u, 2u}) into.operands.push_back(operand(words.arguments.at(i)));
}

void InstructionReader::read_cvt(const Words& words, Instruction& into) const {
  into.results.push_back(operand(words.arguments.at(0)));
  for (std::size_t i = 1; i < words.arguments.size(); ++i) into.operands.push_back(operand(words.arguments[i]));
  if (words.has("e4m3x2") || words.has("e5m2x2")) {
    words.require_known("rn satfinite e4m3x2 e5m2x2");
    if (!words.has("satfinite") || !words.has("rn")) refuse(words.text);
    into.op = Op::cvt_fp8;
    into.mantissa = words.has("e4m3x2") ? 3 : 2;
    return;
  }
  words.require_known("rn rzi rmi");
  into.op = Op::cvt;
  into.from = type_of(words.name.back());
  into.type = type_of(words.name.at(words.name.size() - 2));
  into.rounding = words.has("rn")    ? Rounding::nearest
                  : words.has("rzi") ? Rounding::to_zero
                  : words.has("rmi") ? Rounding::down
                                     : Rounding::none;
}

/// Of two numbers of 16 bits in a register.
void InstructionReader::read_pair(const Words& words, Instruction& into) const {
  const std::string name = words.text.substr(0, words.text.find_first_of(" \t"));
  into.type = {'b', 32};
  into.results.push_back(operand(words.arguments.at(0)));
  for (const std::size_t i : {1u, 2u}) into.operands.push_back(operand(words.arguments.at(i)));
  if (name == "max.u16x2") {
    into.op = Op::max_pair;
  } else if (name == "add.f16x2") {
    into.op = Op::add_pair;
  } else if (name == "set.lt.f16x2.f16x2") {
    into.op = Op::set_pair;
    into.compare = Compare::lt;
  } else if (name == "cvt.rn.f16x2.f32" || name == "cvt.rn.bf16x2.f32") {
    into.op = Op::cvt_pair;
    into.mantissa = words.has("f16x2") ? 10 : 7;
  } else {
    refuse("instruction " + words.text);
  }
}

void InstructionReader::read_memory(const Words& words, Instruction& into) const {
  words.require_known(
      "global shared local param volatile cg nc v2 v4 L1::no_allocate L1::evict_last L2::128B L2::256B");
  const bool loads = words.name[0] == "ld";
  into.op = loads ? Op::ld : Op::st;
  into.width = words.has("v2") ? 2 : words.has("v4") ? 4 : 1;
  into.past_first_cache = words.has("cg") || words.has("volatile");
  into.space = space_in(words.name);
  into.operands.push_back(address(words.arguments.at(loads ? 1 : 0)));
  std::vector<Operand> values = list(words.arguments.at(loads ? 0 : 1));
  if (values.size() != static_cast<std::size_t>(into.width)) refuse(words.text);
  if (loads) {
    into.results = std::move(values);
  } else {
    into.operands.insert(into.operands.end(), values.begin(), values.end());
  }
}

void InstructionReader::read_atom(const Words& words, Instruction& into) const {
  words.require_known("global add max");
  if (words.has("add") == words.has("max")) refuse(words.text);
  into.op = words.has("add") ? Op::atom_add : Op::atom_max;
  into.space = Space::global;
  into.results.push_back(operand(words.arguments.at(0)));
  into.operands = {address(words.arguments.at(1)), operand(words.arguments.at(2))};
}

void InstructionReader::read_control(const Words& words, Instruction& into) const {
  const std::string& name = words.name[0];
  if (name == "bra") {
    words.require_known("uni");
    into.op = Op::bra;
    into.label = prefix_ + words.arguments.at(0);
  } else if (name == "ret") {
    into.op = Op::ret;
  } else if (name == "bar") {
    if (!words.has("sync") || words.arguments != std::vector<std::string>{"0"}) refuse(words.text);
    into.op = Op::bar;
  } else if (name == "membar") {
    words.require_known("gl sys");
    into.op = Op::membar;
  } else {
    words.require_known("sync idx");
    if (!words.has("sync") || !words.has("idx") || into.type.bits != 32) refuse(words.text);
    into.op = Op::shfl;
    for (const std::string& result : split(words.arguments.at(0), '|')) into.results.push_back(operand(result));
    for (std::size_t i = 1; i < 5; ++i) into.operands.push_back(operand(words.arguments.at(i)));
  }
}

}  // namespace tare::kernels::ptx
