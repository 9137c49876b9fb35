#include "tests/unit/container/sparse_image.hpp"

#include <algorithm>
#include <stdexcept>

namespace tare::test {

void SparseImage::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (offset > size_ || to.size() > size_ - offset) throw std::logic_error("a read passes the end of the image");
  bytes_read += to.size();
  ++reads;
  std::fill(to.begin(), to.end(), std::byte{0});
  for (const Written& run : written_) {
    const std::uint64_t from = std::max(offset, run.offset);
    const std::uint64_t end = std::min(offset + to.size(), run.offset + run.bytes.size());
    if (from >= end) continue;
    std::memcpy(to.data() + (from - offset), run.bytes.data() + (from - run.offset), end - from);
  }
}

void SparseImage::append(ByteView bytes) {
  written_.push_back({size_, SharedBytes::copy_of(bytes)});
  size_ += bytes.size();
}

void SparseImage::apply(const FileChange& change) {
  for (const Patch& patch : change.patches) {
    if (read({patch.offset, patch.before.size()}) != patch.before) throw std::logic_error("other bytes than expected");
    written_.push_back({patch.offset, patch.after});
  }
  if (!change.append) return;
  if (change.append->old_size != size_) throw std::logic_error("another size than expected");
  append(change.append->body);
  append(change.append->commit);
}

}  // namespace tare::test
