// A file as it would be after a change, without writing it.
#pragma once

#include <memory>
#include <string>

#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"

namespace tare {

/// A view of `file` with `change` made. Shares both.
class PreviewSource final : public Source {
 public:
  PreviewSource(std::shared_ptr<const Source> file, const FileChange& change);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return file_->name(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

 private:
  void read_piece(std::uint64_t offset, std::span<std::byte> to) const;

  std::shared_ptr<const Source> file_;
  FileChange change_;
  Bytes appended_;
  std::uint64_t size_;
};

}  // namespace tare
