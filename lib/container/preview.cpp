#include "lib/container/preview.hpp"

#include <algorithm>

namespace tare {
namespace {

/// Copies the part of `from`, which stands at `at`, that lies in `to`, which stands at `offset`.
void lay_over(ByteView from, std::uint64_t at, std::span<std::byte> to, std::uint64_t offset) {
  const std::uint64_t first = std::max(at, offset);
  const std::uint64_t end = std::min(at + from.size(), offset + to.size());
  if (first >= end) return;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first - at), end - first,
              to.begin() + static_cast<std::ptrdiff_t>(first - offset));
}

}  // namespace

PreviewSource::PreviewSource(std::shared_ptr<const Source> file, const FileChange& change)
    : Source(file->budget()), file_(std::move(file)), change_(change), size_(file_->size()) {
  for (const Patch& patch : change_.patches) patches_.push_back(&patch);
  std::ranges::sort(patches_, {}, &Patch::offset);
  if (change_.append) {
    appended_ = change_.append->body;
    appended_.insert(appended_.end(), change_.append->commit.begin(), change_.append->commit.end());
    size_ = change_.append->old_size + appended_.size();
  }
  if (change_.splice) size_ = size_ - change_.splice->before.size() + change_.splice->after.size();
}

void PreviewSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  if (!change_.splice) {
    read_piece(offset, to);
    return;
  }
  const Splice& splice = *change_.splice;
  const std::uint64_t end_after = splice.offset + splice.after.size();
  const auto head = std::min<std::uint64_t>(to.size(), splice.offset > offset ? splice.offset - offset : 0);
  read_piece(offset, to.first(head));
  lay_over(splice.after, splice.offset, to, offset);
  const std::uint64_t tail_from = std::max(end_after, offset);
  if (tail_from < offset + to.size()) {
    read_piece(tail_from - splice.after.size() + splice.before.size(), to.subspan(tail_from - offset));
  }
}

/// In the coordinates of the old file: what is there, with patches and appended bytes laid over.
void PreviewSource::read_piece(std::uint64_t offset, std::span<std::byte> to) const {
  const auto old_size = file_->size();
  const auto in_file = std::min<std::uint64_t>(to.size(), old_size > offset ? old_size - offset : 0);
  if (in_file > 0) file_->read(offset, to.first(in_file));
  const auto end_of = [](const Patch* patch) { return patch->offset + patch->after.size(); };
  auto patch = std::ranges::upper_bound(patches_, offset, {}, end_of);  // they do not overlap
  for (; patch != patches_.end() && (*patch)->offset < offset + to.size(); ++patch) {
    lay_over((*patch)->after, (*patch)->offset, to, offset);
  }
  if (change_.append) lay_over(appended_, change_.append->old_size, to, offset);
}

}  // namespace tare
