// PTX's text as functions of statements.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tare::kernels::ptx {

struct Statement {
  std::string text;  ///< without its semicolon; a label ends with a colon
  int line;
};

struct Function {
  std::string name;
  bool is_entry;
  std::vector<std::pair<std::string, std::size_t>> parameters;  ///< with their bytes
  unsigned most_threads = 0;
  std::vector<Statement> body;
};

/// In the order of the file; declarations are left out. Throws std::runtime_error.
std::vector<Function> read_functions(const std::string& path);

std::string trimmed(const std::string& text);
/// At commas (or dots ...) that stand in no brackets.
std::vector<std::string> split(const std::string& text, char separator);

/// ".align 8 .b8 name[288]" and such.
struct Variable {
  std::string name;
  std::size_t align;
  std::size_t bytes;
};
Variable variable_of(const std::string& declaration);

[[noreturn]] void refuse(const std::string& what);

}  // namespace tare::kernels::ptx
