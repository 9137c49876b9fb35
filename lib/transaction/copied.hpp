// How much of the files that a transaction writes anew is copied: for whoever waits.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "lib/transaction/journal.hpp"

namespace tare {

/// Told after each piece but the last, by one thread at a time, how many of how many bytes are copied. Must not throw.
using OnCopied = std::function<void(std::uint64_t done, std::uint64_t size)>;

class Copied {
 public:
  static constexpr std::uint64_t piece = std::uint64_t{64} << 20;

  /// Borrows `on_copied`.
  Copied(const Journal& journal, const OnCopied& on_copied);

  void add(std::uint64_t bytes);

 private:
  const OnCopied& on_copied_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace tare
