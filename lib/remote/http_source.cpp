#include "lib/remote/http_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"

namespace tare {

namespace {

/// What is kept of ranges that were read before they were asked for.
constexpr std::uint64_t most_ahead_bytes = std::uint64_t{64} << 20;
/// Less than what a request of its own says in its header.
constexpr std::uint64_t widest_gap = 256;

/// The runs that hold all these ranges, by offset, of no more bytes than that.
std::vector<Span> runs_of(std::vector<Span> ranges, std::uint64_t most_bytes) {
  std::ranges::sort(ranges, {}, &Span::offset);
  std::vector<Span> runs;
  std::uint64_t bytes = 0;
  for (const Span range : ranges) {
    const bool is_near = !runs.empty() && range.offset <= runs.back().end() + widest_gap;
    const std::uint64_t begin = is_near ? runs.back().end() : range.offset;
    const std::uint64_t more = range.end() > begin ? range.end() - begin : 0;
    if (bytes + more > most_bytes) break;
    bytes += more;
    if (is_near) {
      runs.back().size += more;
    } else if (more > 0) {
      runs.push_back(range);
    }
  }
  return runs;
}

}  // namespace

ObjectStart start_of(const HttpClient& client, HttpObject object, std::uint64_t wanted) {
  HttpRange first = client.get(object, {0, wanted});
  if (first.bytes.size() != std::min(first.total, wanted)) {
    throw Error(Status::io, fmt::format("{}: the server sends {} bytes and says that it has {}", object.name,
                                        first.bytes.size(), first.total));
  }
  return {std::move(object), std::move(first.bytes), first.total, std::move(first.version)};
}

HttpSource::HttpSource(std::shared_ptr<const HttpClient> client, const ObjectStart& start)
    : client_(std::move(client)),
      object_(start.object),
      begin_(start.begin),
      size_(start.size),
      block_bytes_(start.block_bytes),
      only_grows_(start.only_grows),
      version_(start.version) {}

const std::string& HttpSource::version() const {
  const std::lock_guard lock(mutex_);
  if (!version_) fetch({0, std::min<std::uint64_t>(size_, 1)});
  return *version_;
}

void HttpSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  if (to.empty()) return;
  if (offset + to.size() <= begin_.size()) {
    std::copy_n(begin_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    return;
  }
  const std::lock_guard lock(mutex_);
  if (copy_kept(offset, to)) return;
  const std::uint64_t first = offset / block_bytes_;
  const std::uint64_t end = (offset + to.size() - 1) / block_bytes_ + 1;
  if (end - first > most_blocks / 2) {
    const std::uint64_t known = offset < begin_.size() ? begin_.size() - offset : 0;
    std::copy_n(begin_.end() - static_cast<std::ptrdiff_t>(known), known, to.begin());
    std::ranges::copy(fetch({offset + known, to.size() - known}), to.begin() + static_cast<std::ptrdiff_t>(known));
    return;
  }
  fetch_missing(first, end);
  for (std::uint64_t number = first; number < end; ++number) {
    const Bytes& block = blocks_.at(number);
    const std::uint64_t begin = number * block_bytes_;
    const std::uint64_t from = std::max(offset, begin);
    const std::uint64_t until = std::min(offset + to.size(), begin + block.size());
    std::copy(block.begin() + static_cast<std::ptrdiff_t>(from - begin),
              block.begin() + static_cast<std::ptrdiff_t>(until - begin),
              to.begin() + static_cast<std::ptrdiff_t>(from - offset));
  }
}

/// Is all of it in a run that was read before? Under the mutex.
bool HttpSource::copy_kept(std::uint64_t offset, std::span<std::byte> to) const {
  const auto behind = ahead_.upper_bound(offset);
  if (behind == ahead_.begin()) return false;
  const auto& [begin, bytes] = *std::prev(behind);
  const std::uint64_t at = offset - begin;
  if (at > bytes.size() || to.size() > bytes.size() - at) return false;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.begin());
  return true;
}

void HttpSource::fetch_ahead(std::vector<Span> ranges) const {
  std::erase_if(ranges, [&](Span range) {
    return range.end() <= begin_.size() || range.offset > size_ || range.size > size_ - range.offset;
  });
  std::unique_lock lock(mutex_);
  const std::vector<Span> runs = runs_of(std::move(ranges), most_ahead_bytes - ahead_bytes_);
  const HttpObject object = object_;
  lock.unlock();
  const auto fetch_one = [&](std::size_t i) {
    HttpObject asked = object;
    HttpRange found = client_->get(asked, runs[i]);
    const std::lock_guard keeping(mutex_);
    Bytes bytes = require_same(std::move(found), runs[i]);
    ahead_bytes_ += bytes.size();
    ahead_.insert_or_assign(runs[i].offset, std::move(bytes));
  };
  for_each_waiting(runs.size(), fetch_one, {}, client_->spare());
}

/// From the first missing block to the last, in one request.
void HttpSource::fetch_missing(std::uint64_t first, std::uint64_t end) const {
  if (blocks_.size() + (end - first) > most_blocks) blocks_.clear();
  while (first < end && blocks_.contains(first)) ++first;
  while (first < end && blocks_.contains(end - 1)) --end;
  if (first == end) return;
  const std::uint64_t begin = first * block_bytes_;
  const Bytes bytes = fetch({begin, std::min(size_, end * block_bytes_) - begin});
  for (std::uint64_t number = first; number < end; ++number) {
    const ByteView block = ByteView(bytes).subspan((number - first) * block_bytes_);
    const ByteView whole = block.first(std::min<std::uint64_t>(block.size(), block_bytes_));
    blocks_.insert_or_assign(number, Bytes(whole.begin(), whole.end()));
  }
}

Bytes HttpSource::fetch(Span range) const {
  return require_same(client_->get(object_, range), range);
}

/// Under the mutex. Throws `io` where the object has changed since the first answer, or other bytes came.
Bytes HttpSource::require_same(HttpRange found, Span range) const {
  if (!version_) version_ = found.version;
  if (found.total != size_ || found.version != version_) {
    throw Error(Status::io, fmt::format("{}: changed while it was read", object_.name), "try again once it is saved");
  }
  if (found.bytes.size() != range.size) {
    throw Error(Status::io, fmt::format("{}: the server sends {} bytes where {} were asked for at offset {}",
                                        object_.name, found.bytes.size(), range.size, range.offset));
  }
  return std::move(found.bytes);
}

}  // namespace tare
