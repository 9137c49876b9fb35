// A source that keeps the CRC-32 of what was read of it, so that a checksum over all of it does not read that again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/base/source.hpp"

namespace tare {

class SummedSource final : public Source {
 public:
  explicit SummedSource(std::shared_ptr<const Source> source) : Source(source->budget()), source_(std::move(source)) {}

  [[nodiscard]] std::uint64_t size() const override { return source_->size(); }
  [[nodiscard]] const std::string& name() const override { return source_->name(); }
  /// Any number of threads may read.
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

  /// Of a run. Reads what of it was not read in large pieces before.
  [[nodiscard]] std::uint32_t crc32_of(Span run) const;

 private:
  struct Summed {
    std::uint64_t size;
    std::uint32_t crc;
  };

  /// What is known from `at` on, as far as it ends before `end`; nothing: where the next such run begins, or `end`.
  [[nodiscard]] std::pair<std::optional<Summed>, std::uint64_t> known(std::uint64_t at, std::uint64_t end) const;

  std::shared_ptr<const Source> source_;
  mutable std::mutex lock_;
  mutable std::map<std::uint64_t, Summed> summed_;  ///< by offset
};

}  // namespace tare
