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

#include "lib/trace/epoch_clock.hpp"
#include "lib/trace/run.hpp"
#include "lib/trace/series/doubtful_column.hpp"
#include "lib/trace/series/keys.hpp"

namespace tare {

/// One row: what was logged of one step at one time.
struct SeriesRow {
  std::optional<std::int64_t> step = {}, epoch = {};
  std::uint64_t line = 0;
  std::vector<std::pair<std::size_t, double>> scales = {};  ///< by Series::candidate
  std::optional<bool> overflow = {};
  std::optional<double> loss = {}, grad_norm = {};
  int loss_rank = 0;         ///< of the key that told `loss`
  bool is_of_batch = false;  ///< `step` is a batch of the epoch, or how large one is
  bool is_of_epoch = false;  ///< `step` is an epoch
};

/// The series of one run. Several keys may mean a scale: each is followed until it is known which is the best.
class Series {
 public:
  static constexpr std::size_t candidates_most = 16;

  /// `tag`: take that key alone. Empty: choose.
  Series(std::string kind, std::string tag) : kind_(std::move(kind)), tag_(std::move(tag)) {}

  /// What comes from now on stands in `path`: another file, or the next slice of the one that is open.
  void open(const std::string& path);
  /// What the open file's first row shows of all of them. `is_smoothed`: scales are means, and no step's own.
  void settle(std::string_view kind, bool is_smoothed);
  [[nodiscard]] bool is_settled() const { return is_settled_; }
  /// What the numbers of steps count, where the name of their column says so: "update", "epoch".
  void count_by(std::string_view unit) { unit_ = unit; }

  [[nodiscard]] Key key(std::string_view name) const;
  /// Puts a number into `row`, if it is one that a trace tells. `is_flag`: it stands as true or false. Numbers of
  /// overflows are flags unless the series has others than 0 and 1, or could be a sum.
  void put(SeriesRow& row, std::string_view name, double value, bool is_flag = false);
  /// A row without a scale counts, if it tells of a step, where no row has one.
  void add(SeriesRow row);
  /// A start of the run at `step`.
  void restart(std::int64_t step);
  void warn(std::string_view code, const std::string& text) { warnings_.emplace_back(code, text); }
  /// A line of the open file that is no `what`, a literal. A file's are told together, when the series is.
  void broken(std::string_view what, std::uint64_t line);

  /// Of the best key; without steps where there was none.
  Trace finish();

 private:
  struct Candidate {
    std::string name;
    Key key;
    Run run;
    std::uint32_t source = 0;
    std::string path;
    DoubtfulColumn values = {};  ///< looked at where the name is doubtful

    bool may_have(double value) { return !key.is_doubtful || values.may_have(value); }
    [[nodiscard]] bool is_sure() const { return !key.is_doubtful || values.begins_as_scale(); }
    [[nodiscard]] bool is_scale() const { return !run.empty() && (!key.is_doubtful || values.is_scale()); }
  };

  /// What is known of a file, slices of which may come between those of others.
  struct File {
    std::optional<std::pair<std::string, bool>> kind = {};  ///< as settled
    std::string_view no = {};                               ///< what broken lines are not
    std::uint64_t broken = 0, first_broken = 0;
  };

  /// What a series of overflows told as numbers.
  struct Numbers {
    double last = 0;
    bool has_other = false, has_one = false, has_fallen = false;

    void add(double value);
    /// Of a name that sums may have, too.
    [[nodiscard]] bool may_be_sum() const { return has_one && !has_fallen; }
  };

  [[nodiscard]] bool has_counts() const;
  Candidate* candidate(std::string_view name, const Key& key, std::size_t& index);
  Candidate& candidate_at(std::size_t index);
  /// What the first batch is, the row behind it tells: the same in the next epoch is a size, or an epoch's only one.
  bool waits_for_next(SeriesRow& row);
  void flush_first();
  void add_in_place(SeriesRow row);
  void add_without_scale(SeriesRow row);
  void add_to(Candidate& candidate, double value, const SeriesRow& row, std::optional<std::int64_t> number);

  std::string kind_, tag_, path_, unit_;
  bool is_smoothed_ = false, is_settled_ = false;
  std::map<std::string, File, std::less<>> files_;  ///< of those of which there is something to say
  std::list<Candidate> candidates_;
  std::map<std::string, Numbers, std::less<>> numbers_;  ///< by the name of a series of overflows
  EpochClock epochs_, epochs_without_scale_;
  std::optional<SeriesRow> first_;  ///< that names a batch
  std::optional<bool> is_batch_size_;
  bool has_batches_ = false;
  Run without_scale_;  ///< losses of the surest key, and gradient norms
  std::map<std::string, std::size_t, std::less<>> indices_;
  std::optional<int> loss_rank_;  ///< of the losses in it
  std::vector<std::pair<std::string, std::string>> warnings_;
};

}  // namespace tare
