// Which files of a run may tell of its scale, what each is by its content, and in which order they were written.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/trace/input.hpp"

namespace tare {

enum class RunFileKind : std::uint8_t {
  none,
  log,
  event_file,
  csv,
  json_lines,
  mlflow,
  wandb,
  database,
  trainer_state
};

struct RunFile {
  static constexpr std::size_t page_bytes = 4096;

  std::string path;
  RunFileKind kind = RunFileKind::none;
  std::string metric = {};            ///< the key, of MLflow's
  std::string time = {};              ///< when it was written, to be compared as text: a date, or a step; empty: none
  std::shared_ptr<Input> input = {};  ///< where it cannot be opened twice
  std::string first_page = {};        ///< unpacked, until copies are left out; less than `page_bytes`: the whole file
};

/// Files that tell of one run together, in the order in which they were written; others may tell of it once more.
struct RunFiles {
  RunFileKind kind;
  std::vector<RunFile> files;
};

/// A path that was given, or one found in a folder that was.
struct RunPath {
  std::string path;
  bool is_given = false;
};

/// The files at `paths`, folders walked; of those in folders the ones that could be of a run. Throws `not_found`.
std::vector<RunPath> paths_of_run(std::span<const std::string> paths, const TraceOptions& options);

/// What a file is by its first bytes.
RunFile run_file(const Input& input, const TraceOptions& options);

/// Whether more is added to it as the run goes on. Others are written anew, or not read.
bool grows(RunFileKind kind);

/// Files with the same answer tell of the run together.
std::string group_of(const RunFile& file);

/// In which they were written, as far as names and times tell.
void put_in_order(std::vector<RunFile>& files);

/// What is at `paths`, folders walked, copies left out. Throws `not_found` or `io` for a path that was given; what
/// cannot be opened in a folder is left out.
std::vector<RunFiles> files_of_run(std::span<const std::string> paths, const TraceOptions& options);

}  // namespace tare
