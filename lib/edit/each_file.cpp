#include "lib/edit/each_file.hpp"

#include <algorithm>
#include <atomic>

#include "lib/checkpoint/parallel.hpp"

namespace tare {

void FileOutcomes::rethrow() const {
  const auto failed = std::find_if(failures.begin(), failures.end(), [](const auto& failure) { return bool(failure); });
  if (failed != failures.end()) std::rethrow_exception(*failed);
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
