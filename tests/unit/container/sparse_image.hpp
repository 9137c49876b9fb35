// A file in memory that is mostly holes: gigabytes that cost nothing.
#pragma once

#include <string>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"

namespace tare::test {

class SparseImage final : public Source {
 public:
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

  void append(ByteView bytes);
  void append_hole(std::uint64_t size) { size_ += size; }
  /// Throws where the image has not what the change expects. REQUIRES: no splice.
  void apply(const FileChange& change);

  mutable std::uint64_t bytes_read = 0;
  mutable std::uint64_t reads = 0;

 private:
  struct Written {
    std::uint64_t offset;
    SharedBytes bytes;
  };
  std::vector<Written> written_;  ///< what is written later rules
  std::uint64_t size_ = 0;
  std::string name_ = "sparse";
};

}  // namespace tare::test
