#include "tests/gpu/ptx/program.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace tare::kernels::ptx {
namespace {

/// Writes functions into a kernel.
class Compiler {
 public:
  Compiler(Kernel& kernel, const std::vector<Function>& functions) : kernel_(kernel), functions_(functions) {}

  void compile(const Function& entry) {
    for (const auto& [name, bytes] : entry.parameters) add_symbol(name, Space::param, 8, bytes);
    for (const char* special : special_registers) add_register(special, {'u', 32});
    write(entry, "", "");
    kernel_.local = (kernel_.local + 15) / 16 * 16;  // lane after lane, each of them aligned
    Instruction end;
    end.op = Op::ret;
    kernel_.code.push_back(end);
    for (Instruction& instruction : kernel_.code) {
      if (instruction.label.empty()) continue;
      const auto label = kernel_.labels.find(instruction.label);
      if (label == kernel_.labels.end()) refuse(kernel_.name + ": no label " + instruction.label);
      instruction.target = label->second;
    }
  }

 private:
  /// `back`: the label that a return goes to; empty: the kernel ends.
  void write(const Function& function, const std::string& prefix, const std::string& back) {
    const InstructionReader reader(kernel_, prefix);
    for (const Statement& statement : function.body) {
      const std::string& text = statement.text;
      if (text.back() == ':') {
        kernel_.labels[prefix + text.substr(0, text.size() - 1)] = static_cast<int>(kernel_.code.size());
      } else if (text[0] == '.') {
        declare(text, prefix);
      } else if (text.rfind("call", 0) == 0) {
        call(text, prefix);
      } else {
        Instruction instruction = reader.read(statement);
        if (instruction.op == Op::ret && !back.empty()) {
          instruction.op = Op::bra;
          instruction.label = back;
        }
        kernel_.code.push_back(std::move(instruction));
      }
    }
  }

  void declare(const std::string& text, const std::string& prefix) {
    const std::size_t space = text.find_first_of(" \t");
    const std::string word = text.substr(0, space);
    const std::string rest = trimmed(text.substr(space));
    if (word == ".pragma" || word == ".loc") return;
    if (word == ".reg") return declare_registers(rest, prefix);
    const Variable variable = variable_of(rest);
    if (word == ".shared") return add_symbol(prefix + variable.name, Space::shared, variable.align, variable.bytes);
    if (word != ".local" && word != ".param") refuse("directive " + text);
    add_symbol(prefix + variable.name, Space::local, variable.align, variable.bytes);  // a call's params are a lane's
  }

  /// ".b32 %r<2412>" or ".b16 one, two"
  void declare_registers(const std::string& text, const std::string& prefix) {
    const std::size_t space = text.find_first_of(" \t");
    const Type type = type_of(text.substr(1, space - 1));
    for (const std::string& name : split(text.substr(space), ',')) {
      const std::size_t many = name.find('<');
      if (many == std::string::npos) {
        add_register(prefix + name, type);
        continue;
      }
      const int count = std::atoi(name.c_str() + many + 1);
      for (int i = 0; i < count; ++i) add_register(prefix + name.substr(0, many) + std::to_string(i), type);
    }
  }

  /// The function's body stands where the call is.
  void call(const std::string& text, const std::string& prefix) {
    const std::vector<std::string> parts = split(text.substr(text.find_first_of(" \t")), ',');
    const Function* called = nullptr;
    for (const Function& function : functions_) {
      if (function.name == parts.at(0)) called = &function;
    }
    if (called == nullptr) refuse("no function " + parts[0]);
    const std::string inner = "call" + std::to_string(calls_++) + ":";
    const std::vector<std::string> given = split(parts.at(1).substr(1, parts[1].size() - 2), ',');
    for (std::size_t i = 0; i < given.size(); ++i) {
      kernel_.symbol_of[inner + called->parameters.at(i).first] = kernel_.symbol_of.at(prefix + given[i]);
    }
    write(*called, inner, inner + "return");
    kernel_.labels[inner + "return"] = static_cast<int>(kernel_.code.size());
  }

  void add_register(const std::string& name, Type type) {
    if (kernel_.register_of.emplace(name, static_cast<int>(kernel_.registers.size())).second) {
      kernel_.registers.push_back(type);
    }
  }

  void add_symbol(const std::string& name, Space space, std::size_t align, std::size_t bytes) {
    std::size_t& end = space == Space::shared ? kernel_.shared : space == Space::local ? kernel_.local : kernel_.params;
    end = (end + align - 1) / align * align;
    kernel_.symbol_of[name] = static_cast<int>(kernel_.symbols.size());
    kernel_.symbols.push_back({space, end, bytes});
    end += bytes;
  }

  Kernel& kernel_;
  const std::vector<Function>& functions_;
  int calls_ = 0;
};

}  // namespace

Type type_of(const std::string& word) {
  if (word == "pred") return {'p', 1};
  const bool is_type = word.size() >= 2 && std::strchr("busf", word[0]) != nullptr && word[1] >= '0' && word[1] <= '9';
  return is_type ? Type{word[0], std::atoi(word.c_str() + 1)} : Type{'b', 0};
}

std::vector<std::unique_ptr<Kernel>> read_module(const std::string& path) {
  const std::vector<Function> functions = read_functions(path);
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const Function& function : functions) {
    if (!function.is_entry) continue;
    auto kernel = std::make_unique<Kernel>();
    kernel->name = function.name;
    kernel->file = path;
    kernel->most_threads = function.most_threads;
    Compiler(*kernel, functions).compile(function);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace tare::kernels::ptx
