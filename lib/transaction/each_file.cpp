#include "lib/transaction/each_file.hpp"

#include <algorithm>
#include <atomic>

#include "lib/base/parallel.hpp"

namespace tare {

void FileOutcomes::rethrow() const {
  const auto failed = std::find_if(failures.begin(), failures.end(), [](const auto& failure) { return bool(failure); });
  if (failed != failures.end()) std::rethrow_exception(*failed);
}

FileOutcomes for_each_in_turn(const Store& store, const Journal& journal, const std::vector<std::size_t>& numbers,
                              Direction direction, const std::function<void(std::size_t number)>& task) {
  const bool grows = (journal.kind == JournalKind::edit) == (direction == Direction::forth);
  FileOutcomes all{std::vector<char>(numbers.size()), std::vector<std::exception_ptr>(numbers.size())};
  for (const Way way : {grows ? Way::in_place : Way::rewritten, grows ? Way::rewritten : Way::in_place}) {
    std::vector<std::size_t> turn;  // indices into numbers
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (journal.files[numbers[i]].way == way) turn.push_back(i);
    }
    const auto outcomes = for_each_file(store.files(), turn.size(), [&](std::size_t i) { task(numbers[turn[i]]); });
    for (std::size_t i = 0; i < turn.size(); ++i) {
      all.begun[turn[i]] = outcomes.begun[i];
      all.failures[turn[i]] = outcomes.failures[i];
    }
    const auto has_failed = [](const std::exception_ptr& failure) { return bool(failure); };
    if (std::any_of(all.failures.begin(), all.failures.end(), has_failed)) break;
  }
  return all;
}

FileOutcomes for_each_file(const FileLayer& files, std::size_t count, const std::function<void(std::size_t)>& task) {
  FileOutcomes outcomes{std::vector<char>(count), std::vector<std::exception_ptr>(count)};
  std::atomic<bool> has_failed{false};
  const auto do_one = [&](std::size_t index) {
    if (has_failed) return;
    outcomes.begun[index] = 1;
    try {
      task(index);
    } catch (...) {
      outcomes.failures[index] = std::current_exception();
      has_failed = true;
    }
  };
  if (files.is_shareable()) {
    for_each_parallel(count, do_one, {});
  } else {
    for (std::size_t index = 0; index < count; ++index) do_one(index);
  }
  return outcomes;
}

}  // namespace tare
