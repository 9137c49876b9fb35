// Something that a reader noticed and a user should know, beside the answer itself.
#pragma once

#include <string>
#include <string_view>

namespace tare {

enum class Severity { note, warning, error };

/// `code` is kebab-case, from the list in lib/report/README.md; `file` and `path` may be empty.
struct Finding {
  Severity severity = Severity::note;
  std::string code;
  std::string message;
  std::string file;
  std::string path;
};

std::string_view name(Severity severity);

}  // namespace tare
