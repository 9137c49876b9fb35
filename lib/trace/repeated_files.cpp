#include "lib/trace/repeated_files.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"

namespace tare {

namespace {

/// Of one group; each opens two files.
constexpr std::size_t most_comparisons = 256;

std::string_view unpacked_name(std::string_view path) {
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (path.ends_with(ending)) path.remove_suffix(ending.size());
  }
  return path;
}

/// "slurm-#.out" of "slurm-12.out", and "train.log" of "train.log.2".
std::string without_numbers(std::string_view path) {
  std::string plain;
  for (const char c : path) {
    if (!is_digit(c)) {
      plain.push_back(c);
    } else if (!plain.ends_with('#')) {
      plain.push_back('#');
    }
  }
  if (plain.ends_with('#')) plain.resize(plain.find_last_not_of("#.-_") + 1);
  return plain;
}

struct Candidate {
  const RunFile* file;
  std::string_view name;  ///< unpacked
  std::string series;     ///< the name without numbers
};

/// Attempts and rotations: however alike, each is of its own time.
bool are_of_series(const Candidate& a, const Candidate& b) {
  return a.series == b.series && a.name != b.name;
}

/// Less: the first is the beginning of the second; unordered: they differ.
std::partial_ordering compared(Input& a, Input& b) {
  constexpr std::size_t piece = std::size_t{1} << 18;
  for (;;) {
    const Bytes first = first_bytes(a, piece), second = first_bytes(b, piece);
    const std::size_t both = std::min(first.size(), second.size());
    if (!std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(both), second.begin())) {
      return std::partial_ordering::unordered;
    }
    if (first.size() != second.size() || both < piece) return first.size() <=> second.size();
  }
}

class Kept {
 public:
  explicit Kept(const TraceOptions& options) : options_(options) {}

  /// REQUIRES: the first pages come in falling order, so that the last ones are those that begin like this one.
  void take(const Candidate& next) {
    for (auto other = kept_.rbegin(); other != kept_.rend() && may_repeat(*next.file, *other->file); ++other) {
      if (are_of_series(next, *other)) continue;
      const auto order = compared(*next.file, *other->file);
      if (order > 0) *other = next;
      if (order != std::partial_ordering::unordered) return;
    }
    kept_.push_back(next);
  }

  [[nodiscard]] std::vector<const RunFile*> files() const {
    std::vector<const RunFile*> files;
    for (const Candidate& one : kept_) files.push_back(one.file);
    return files;
  }

 private:
  static bool may_repeat(const RunFile& next, const RunFile& other) {
    return next.metric == other.metric && other.first_page.starts_with(next.first_page);
  }

  std::partial_ordering compared(const RunFile& next, const RunFile& other) {
    const bool is_whole = next.first_page.size() < RunFile::page_bytes;
    if (is_whole) return next.first_page.size() <=> other.first_page.size();
    if (comparisons_++ >= most_comparisons) return std::partial_ordering::unordered;
    try {
      Input first(next.path, options_), second(other.path, options_);
      return tare::compared(first, second);
    } catch (const Error&) {
      return std::partial_ordering::unordered;
    }
  }

  const TraceOptions& options_;
  std::vector<Candidate> kept_;
  std::size_t comparisons_ = 0;
};

}  // namespace

void drop_repeated(std::vector<RunFile>& files, const TraceOptions& options) {
  std::vector<Candidate> candidates;
  for (const RunFile& file : files) {
    const bool is_read_once = file.input != nullptr;
    if (is_read_once || file.first_page.empty()) continue;
    const std::string_view name = unpacked_name(file.path);
    candidates.push_back({&file, name, without_numbers(name)});
  }
  std::ranges::stable_sort(candidates, std::ranges::greater{}, [](const Candidate& one) {
    return std::tuple<std::string_view, std::string_view>(one.file->metric, one.file->first_page);
  });
  Kept kept(options);
  for (const Candidate& candidate : candidates) kept.take(candidate);
  std::set<const RunFile*> repeated;
  for (const Candidate& candidate : candidates) repeated.insert(candidate.file);
  for (const RunFile* file : kept.files()) repeated.erase(file);
  std::vector<RunFile> left;
  for (RunFile& file : files) {
    if (repeated.contains(&file)) continue;
    file.first_page = {};
    left.push_back(std::move(file));
  }
  files = std::move(left);
}

}  // namespace tare
