#include "lib/transaction/copied.hpp"

namespace tare {

Copied::Copied(const Journal& journal, const OnCopied& on_copied) : on_copied_(on_copied) {
  for (const FileRecord& file : journal.files) {
    if (file.write_method == WriteMethod::rewritten) size_ += file.size_before - file.swaps.front().before.size();
  }
}

void Copied::add(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t pieces = done_ / piece;
  done_ += bytes;
  if (on_copied_ && done_ / piece > pieces && done_ < size_) on_copied_(done_, size_);
}

}  // namespace tare
