// Where what a monitor saw goes: a file of some form. What goes wrong there never stops training.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/monitor/observed.hpp"

namespace tare::monitor {

class Sink {
 public:
  explicit Sink(std::string path) : path_(std::move(path)) {}
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// The first failure is kept, and nothing more is written after it.
  void take(const ObservedStep& step) noexcept;

  /// As the configuration calls it.
  [[nodiscard]] virtual std::string_view kind() const = 0;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Why nothing is written any more; empty while all is well.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 protected:
  /// Throws what goes wrong.
  virtual void write(const ObservedStep& step) = 0;

 private:
  std::string path_;
  std::string failure_;
};

using Sinks = std::vector<std::unique_ptr<Sink>>;

/// Puts the bytes behind those of the file, which is made where there is none; in front of them `head`, if it is empty.
/// The file is as before where they do not all go there. A pipe that nobody reads fails instead of waiting. Throws
/// `io`.
void append_whole(const std::string& path, ByteView head, ByteView bytes);

}  // namespace tare::monitor
