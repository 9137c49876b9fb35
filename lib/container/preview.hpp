// A file as it would be after a change, without writing it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"

namespace tare {

/// A view of `file`, which it shares, with `change` made, which it borrows.
class PreviewSource final : public Source {
 public:
  PreviewSource(std::shared_ptr<const Source> file, const FileChange& change);
  PreviewSource(std::shared_ptr<const Source> file, FileChange&& change) = delete;

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return file_->name(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

 private:
  void read_piece(std::uint64_t offset, std::span<std::byte> to) const;

  std::shared_ptr<const Source> file_;
  const FileChange& change_;
  std::vector<const Patch*> patches_;  ///< by offset
  Bytes appended_;
  std::uint64_t size_;
};

}  // namespace tare
