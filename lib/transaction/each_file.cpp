#include "lib/transaction/each_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "lib/base/parallel.hpp"

namespace tare {
namespace {

bool has_failed(const FileOutcomes& outcomes) {
  const auto& failures = outcomes.failures;
  return std::any_of(failures.begin(), failures.end(), [](const auto& failure) { return bool(failure); });
}

/// Throws nothing, so that it is known of every file whether it was begun: where there is no memory for the calls
/// themselves, the first of them is what failed.
void take_turn(const FileLayer& files, const std::vector<std::size_t>& turn, FileOutcomes& outcomes,
               const std::function<void(std::size_t)>& task) {
  if (turn.empty()) return;
  std::atomic<bool> is_over{false};
  const auto do_one = [&](std::size_t place) {
    if (is_over) return;
    const std::size_t index = turn[place];
    outcomes.begun[index] = 1;
    try {
      task(index);
    } catch (...) {
      outcomes.failures[index] = std::current_exception();
      is_over = true;
    }
  };
  try {
    if (files.is_shareable()) return for_each_parallel(turn.size(), do_one, {});
    for (std::size_t place = 0; place < turn.size(); ++place) do_one(place);
  } catch (...) {
    auto& failure = outcomes.failures[turn.front()];
    if (!failure) failure = std::current_exception();
  }
}

FileOutcomes nothing_begun(std::size_t count) {
  return {std::vector<char>(count), std::vector<std::exception_ptr>(count)};
}

}  // namespace

void FileOutcomes::rethrow() const {
  const auto failed = std::find_if(failures.begin(), failures.end(), [](const auto& failure) { return bool(failure); });
  if (failed != failures.end()) std::rethrow_exception(*failed);
}

FileOutcomes for_each_in_turn(const Store& store, const Journal& journal, const std::vector<std::size_t>& numbers,
                              Direction direction, const std::function<void(std::size_t number)>& task) {
  const bool grows = (journal.kind == JournalKind::edit) == (direction == Direction::forth);
  FileOutcomes outcomes = nothing_begun(numbers.size());
  std::array<std::vector<std::size_t>, 2> turns;  // indices into numbers
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool is_first = (journal.files[numbers[i]].write_method == WriteMethod::in_place) == grows;
    turns[is_first ? 0 : 1].push_back(i);
  }
  const std::function<void(std::size_t)> do_one = [&](std::size_t i) { task(numbers[i]); };
  for (const auto& turn : turns) {
    if (!has_failed(outcomes)) take_turn(store.files(), turn, outcomes, do_one);
  }
  return outcomes;
}

FileOutcomes for_each_file(const FileLayer& files, std::size_t count, const std::function<void(std::size_t)>& task) {
  FileOutcomes outcomes = nothing_begun(count);
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  take_turn(files, all, outcomes, task);
  return outcomes;
}

}  // namespace tare
