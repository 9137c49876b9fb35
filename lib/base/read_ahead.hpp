// A source that is read in many small pieces, mostly one behind the other: what stands behind a piece is read with it.
#pragma once

#include <memory>

#include "lib/base/source.hpp"

namespace tare {

/// Shares `whole`. Its bytes are taken to stay as they are. For one thread.
class ReadAhead final : public Source {
 public:
  explicit ReadAhead(std::shared_ptr<const Source> whole) : Source(whole->budget()), whole_(std::move(whole)) {}

  [[nodiscard]] std::uint64_t size() const override { return whole_->size(); }
  [[nodiscard]] const std::string& name() const override { return whole_->name(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

 private:
  std::shared_ptr<const Source> whole_;
  mutable Bytes piece_;
  mutable std::uint64_t begin_ = 0;
};

}  // namespace tare
