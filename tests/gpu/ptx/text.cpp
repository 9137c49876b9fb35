#include "tests/gpu/ptx/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/gpu/ptx/program.hpp"

namespace tare::kernels::ptx {
namespace {

std::string text_without_comments(const std::string& path) {
  std::ifstream in(path);
  if (!in) refuse("cannot read " + path);
  std::string text;
  for (std::string line; std::getline(in, line);) text += line.substr(0, line.find("//")) + "\n";
  return text;
}

bool begins(const std::string& text, const char* with) {
  return text.rfind(with, 0) == 0;
}

/// Reads the file from its beginning to its end.
class Reader {
 public:
  explicit Reader(std::string text) : text_(std::move(text)) {}

  std::vector<Function> functions() {
    std::vector<Function> all;
    std::vector<Statement> shared;  // of the whole file: those who use it are written into the kernel
    while (skip_space()) {
      const std::string line = text_.substr(at_, text_.find('\n', at_) - at_);
      if (begins(line, ".version") || begins(line, ".target") || begins(line, ".address_size")) {
        at_ += line.size();
        continue;
      }
      if (begins(line, ".shared")) {
        const int at = line_;
        std::string declared;
        while (text_.at(at_) != ';') declared += step();
        step();
        shared.push_back({declared, at});
        continue;
      }
      const bool is_entry = line.find(".entry") != std::string::npos;
      if (!is_entry && line.find(".func") == std::string::npos) refuse("between functions: " + line);
      Function function = head(is_entry);
      if (text_[at_++] == ';') continue;  // a declaration
      body(function);
      if (is_entry) function.body.insert(function.body.begin(), shared.begin(), shared.end());
      all.push_back(std::move(function));
    }
    return all;
  }

 private:
  bool skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) step();
    return at_ < text_.size();
  }
  char step() {
    line_ += text_.at(at_) == '\n' ? 1 : 0;
    return text_[at_++];
  }

  /// Up to its brace or semicolon.
  Function head(bool is_entry) {
    const std::size_t end = text_.find_first_of("{;", at_);
    std::string words;
    while (at_ < end) words += step();
    const std::string kind = is_entry ? ".entry" : ".func";
    words = trimmed(words.substr(words.find(kind) + kind.size()));
    const std::size_t open = words.find('(');
    const std::size_t close = words.find(')', open);
    Function function{trimmed(words.substr(0, open)), is_entry, {}, 0, {}};
    for (const std::string& parameter : split(words.substr(open + 1, close - open - 1), ',')) {
      const Variable variable = variable_of(trimmed(parameter).substr(std::string(".param").size()));
      function.parameters.emplace_back(variable.name, variable.bytes);
    }
    const std::size_t most = words.find(".maxntid");
    if (most != std::string::npos) {
      function.most_threads = static_cast<unsigned>(std::atoi(words.c_str() + most + std::string(".maxntid").size()));
    }
    return function;
  }

  /// Statements end with a semicolon, labels with a colon, pragmas with their line; braces make no scope that matters.
  void body(Function& function) {
    std::string statement;
    int begun = line_;
    const auto finish = [&](const char* ending) {
      function.body.push_back({trimmed(statement) + ending, begun});
      statement.clear();
    };
    for (int depth = 1; depth > 0;) {
      if (statement.empty()) begun = line_;
      const char c = step();
      const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
      if (statement.empty() && (c == '{' || c == '}')) {
        depth += c == '{' ? 1 : -1;
      } else if (c == ';') {
        finish("");
      } else if (c == ':' && statement[0] == '$') {
        finish(":");
      } else if (c == '\n' && begins(statement, ".pragma")) {
        finish("");
      } else if (!statement.empty() || !is_space) {
        statement += is_space ? ' ' : c;
      }
    }
  }

  std::string text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

void refuse(const std::string& what) {
  throw std::runtime_error("ptx: " + what);
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
    if (c == separator && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

Variable variable_of(const std::string& declaration) {
  std::istringstream words(declaration);
  Variable variable{{}, 8, 0};
  std::string type;
  words >> type;
  if (type == ".align") words >> variable.align >> type;
  words >> variable.name;
  std::size_t count = 1;
  const std::size_t bracket = variable.name.find('[');
  if (bracket != std::string::npos) {
    count = std::strtoull(variable.name.c_str() + bracket + 1, nullptr, 0);
    variable.name.resize(bracket);
  }
  variable.bytes = count * type_of(type.substr(1)).bytes();
  return variable;
}

std::vector<Function> read_functions(const std::string& path) {
  return Reader(text_without_comments(path)).functions();
}

}  // namespace tare::kernels::ptx
