// Reads the files of a run that tell of it together, one after the other, also while they are still written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/trace/files.hpp"

namespace tare {

/// "log", "tensorboard", "csv", "jsonl", "mlflow", "wandb"
std::string_view name_of(RunFileKind kind);

class RunReader {
 public:
  /// `tag`: as TraceOptions has it.
  RunReader(RunFileKind kind, const std::string& tag);

  /// The next file, or the next slice of one.
  void read(const RunFile& file, Input& input);
  /// What was told until now; what waits for a line that has not come is told as if the files ended here.
  [[nodiscard]] Trace so_far() const;
  /// The same; nothing is read any more.
  Trace finish();

 private:
  struct Reading;
  struct Deleted {
    void operator()(Reading* reading) const;
  };

  RunFileKind kind_;
  std::unique_ptr<Reading, Deleted> reading_;
};

/// How much of the file there is to read, from `begin` on.
WholePart whole_part(RunFileKind kind, const Source& file, std::uint64_t begin);

}  // namespace tare
