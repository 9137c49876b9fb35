#include "lib/objects/new_version.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr std::size_t most_parts = 10'000;
/// Several are copied at the same time; those that are sent are in memory.
constexpr std::uint64_t copied_part_bytes = std::uint64_t{64} << 20;  // Azure copies 100 MiB at a time
constexpr std::uint64_t sent_part_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t piece_bytes = std::uint64_t{8} << 20;  // read before they are sent

/// Parts of `whole`, of about `size` bytes, none of which is smaller than a part may be.
void add_divided(std::vector<ObjectPart>& parts, const ObjectPart& whole, std::uint64_t size) {
  std::uint64_t at = 0;
  while (at < whole.span.size) {
    const std::uint64_t left = whole.span.size - at;
    const std::uint64_t taken = left < size + least_part_bytes ? left : size;
    const auto from = whole.copied_from ? std::optional(*whole.copied_from + at) : std::nullopt;
    parts.push_back({{whole.span.offset + at, taken}, from});
    at += taken;
  }
}

/// What is sent grows until it is large enough for a part, then what is copied comes as it is.
class PartPlan {
 public:
  void send(Span span) {
    if (sent_.size == 0) sent_.offset = span.offset;
    sent_.size += span.size;
  }

  void copy(Span span, std::uint64_t from, bool is_last) {
    if (sent_.size > 0 && sent_.size < least_part_bytes) {
      const std::uint64_t taken = std::min(span.size, least_part_bytes - sent_.size);
      sent_.size += taken;
      span = {span.offset + taken, span.size - taken};
      from += taken;
    }
    if (span.size == 0) return;
    if (span.size < least_part_bytes && !is_last) return send(span);
    flush();
    add_divided(parts_, {span, from}, copied_part_bytes);
  }

  std::vector<ObjectPart> finished() {
    flush();
    return std::move(parts_);
  }

 private:
  void flush() {
    add_divided(parts_, {sent_, std::nullopt}, sent_part_bytes);
    sent_ = {};
  }

  std::vector<ObjectPart> parts_;
  Span sent_;
};

}  // namespace

NewVersion::NewVersion(const FileRecord& record) : old_size_(record.size_before) {
  const bool is_rewritten = record.write_method == WriteMethod::rewritten;
  std::uint64_t from = 0;
  for (const Swap& swap : record.swaps) {
    add_copied(from, swap.offset);
    add_sent(swap.after);
    from = swap.offset + swap.before.size();
  }
  add_copied(from, is_rewritten ? record.size_before : record.common_size());
  if (record.size_after > record.size_before && !is_rewritten) add_sent(record.tail);
}

void NewVersion::add_copied(std::uint64_t from, std::uint64_t end) {
  if (from < end) runs_.push_back({{size(), end - from}, from, {}});
}

void NewVersion::add_sent(ByteView bytes) {
  if (!bytes.empty()) runs_.push_back({{size(), bytes.size()}, std::nullopt, bytes});
}

std::uint64_t NewVersion::size() const {
  return runs_.empty() ? 0 : runs_.back().span.end();
}

Bytes NewVersion::read(Span span, const NewBytes& old) const {
  // One read of what is there, from the first byte that is wanted to the last, costs one round trip.
  std::optional<Span> wanted;
  for (const Run& run : runs_) {
    const std::uint64_t first = std::max(span.offset, run.span.offset);
    const std::uint64_t end = std::min(span.end(), run.span.end());
    if (first >= end || !run.copied_from) continue;
    const std::uint64_t at = *run.copied_from + (first - run.span.offset);
    if (!wanted) wanted = Span{at, 0};
    wanted->size = at + (end - first) - wanted->offset;
  }
  const Bytes there = wanted ? old(*wanted) : Bytes();
  Bytes made;
  made.reserve(span.size);
  for (const Run& run : runs_) {
    const std::uint64_t first = std::max(span.offset, run.span.offset);
    const std::uint64_t end = std::min(span.end(), run.span.end());
    if (first >= end) continue;
    const std::uint64_t in_run = first - run.span.offset;
    const ByteView bytes = run.copied_from
                               ? ByteView(there).subspan(*run.copied_from + in_run - wanted->offset, end - first)
                               : run.sent.subspan(in_run, end - first);
    made.insert(made.end(), bytes.begin(), bytes.end());
  }
  return made;
}

std::vector<ObjectPart> NewVersion::whole_and_pieces() const {
  std::vector<ObjectPart> parts;
  const Run& first = runs_.front();
  const bool is_whole = first.copied_from == 0 && first.span.size == old_size_;
  if (is_whole) parts.push_back({first.span, 0});
  for (std::uint64_t at = is_whole ? old_size_ : 0; at < size(); at += piece_bytes) {
    parts.push_back({{at, std::min(piece_bytes, size() - at)}, std::nullopt});
  }
  return parts;
}

std::vector<ObjectPart> NewVersion::parts() const {
  PartPlan plan;
  for (const Run& run : runs_) {
    if (run.copied_from) {
      plan.copy(run.span, *run.copied_from, &run == &runs_.back());
    } else {
      plan.send(run.span);
    }
  }
  auto parts = plan.finished();
  if (parts.size() <= most_parts) return parts;
  throw Error(Status::unsupported,
              fmt::format("its changes lie in {} parts, and a store makes an object of {}", parts.size(), most_parts),
              "download it, edit that, and upload it");
}

}  // namespace tare
