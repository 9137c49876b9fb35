// Rows of named numbers -> steps: what event files, tables and lines of JSON have in common.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/trace/run.hpp"
#include "lib/trace/series/keys.hpp"

namespace tare {

/// One row: what was logged of one step at one time.
struct SeriesRow {
  std::optional<std::int64_t> step = {};
  std::uint64_t line = 0;
  std::vector<std::pair<std::size_t, double>> scales = {};  ///< by Series::candidate
  std::optional<bool> overflow = {};
  std::optional<double> loss = {}, grad_norm = {};
};

/// The series of one run. Several keys may mean a scale: each is followed until it is known which is the best.
class Series {
 public:
  static constexpr std::size_t candidates_most = 16;

  /// `tag`: take that key alone. Empty: choose.
  Series(std::string kind, std::string tag) : kind_(std::move(kind)), tag_(std::move(tag)) {}

  /// What comes from now on stands in `path`.
  void open(const std::string& path) { path_ = path; }
  void set_kind(std::string_view kind) { kind_ = kind; }
  /// Scales are means, and no step's own.
  void set_smoothed(bool is_smoothed) { is_smoothed_ = is_smoothed; }

  [[nodiscard]] Key key(std::string_view name) const;
  /// Puts a number into `row`, if it is one that a trace tells. `is_flag`: it stands as true or false.
  void put(SeriesRow& row, std::string_view name, double value, bool is_flag = false);
  void add(const SeriesRow& row);
  /// A start of the run at `step`.
  void restart(std::int64_t step);
  void warn(std::string_view code, const std::string& text) { warnings_.emplace_back(code, text); }

  /// Of the best key; without steps where there was none.
  Trace finish();

 private:
  struct Candidate {
    std::string name;
    Key key;
    Run run;
    std::uint32_t source = 0;
    std::string path;
  };

  Candidate* candidate(std::string_view name, const Key& key, std::size_t& index);

  std::string kind_, tag_, path_;
  bool is_smoothed_ = false;
  std::list<Candidate> candidates_;
  std::map<std::string, std::size_t, std::less<>> indices_;
  std::map<KeyRole, std::pair<int, std::string>> chosen_;
  std::vector<std::pair<std::string, std::string>> warnings_;
};

}  // namespace tare
