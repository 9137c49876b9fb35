// A sink: a file to which a line is added for each step that was looked at.
#pragma once

#include <string>
#include <utility>

namespace tare::monitor {

/// Failures never stop training: the first is kept to be told, and nothing more is written.
class LineFile {
 public:
  explicit LineFile(std::string path) : path_(std::move(path)) {}

  /// The line with its end, in one write at the end of the file, which is made where there is none.
  void add(const std::string& line);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The errno of what went wrong; 0 while nothing did.
  [[nodiscard]] int error() const { return error_; }

 private:
  std::string path_;
  int error_ = 0;
};

}  // namespace tare::monitor
