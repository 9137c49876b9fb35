#include "lib/remote/http_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"

namespace tare {

namespace {

/// What is kept of ranges that were read before they were asked for.
constexpr std::uint64_t most_ahead_bytes = std::uint64_t{64} << 20;
/// Less than what a request of its own says in its header.
constexpr std::uint64_t widest_gap = 256;
/// What is kept of what was read otherwise, and the largest read of which anything is kept.
constexpr std::uint64_t most_passing_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t most_kept_read = std::uint64_t{2} << 20;
/// What a read of less brings: the first at a place, and one that goes on from there, twice as much each time.
constexpr std::uint64_t least_window = std::uint64_t{4} << 10;
constexpr std::uint64_t widest_window = std::uint64_t{64} << 10;
/// Around a read of so many bytes as many as a request of its own costs: records of a zip have their headers there.
constexpr std::uint64_t least_read_with_margin = std::uint64_t{16} << 10;
constexpr std::uint64_t widest_margin = 512;

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
  const bool is_whole = first.bytes.size() == first.total;
  if (!is_whole && first.bytes.size() != std::min(first.total, wanted)) {
    throw Error(Status::io, fmt::format("{}: the server sends {} bytes and says that it has {}", object.name,
                                        first.bytes.size(), first.total));
  }
  return {std::move(object), std::move(first.bytes), first.total, std::move(first.version)};
}

HttpSource::HttpSource(std::shared_ptr<const HttpClient> client, const ObjectStart& start)
    : client_(std::move(client)),
      object_(start.object),
      size_(start.size),
      only_grows_(start.only_grows),
      version_(start.version) {
  kept_.keep(0, start.begin, Keep::always);
}

const std::string& HttpSource::version() const {
  const std::lock_guard lock(mutex_);
  if (!version_) fetch({0, std::min<std::uint64_t>(size_, 1)});
  return *version_;
}

void HttpSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  const std::lock_guard lock(mutex_);
  if (kept_.passing_bytes() > most_passing_bytes) kept_.drop_passing();
  const Span missing = kept_.missing({offset, to.size()});
  if (missing.size > most_kept_read) {
    kept_.copy_known(offset, to);
    std::ranges::copy(fetch(missing), to.begin() + static_cast<std::ptrdiff_t>(missing.offset - offset));
    return;
  }
  if (missing.size > 0) {
    const Span window = window_around(missing, to.size());
    const Bytes found = fetch(window);
    kept_.keep(window.offset, found, Keep::for_now);
  }
  kept_.copy_known(offset, to);
}

Span HttpSource::window_around(Span missing, std::uint64_t wanted_in_all) const {
  const Span gap = kept_.gap_around(missing, size_);
  if (size_ <= small_object_bytes) return gap;
  const bool is_small = missing.size < least_window;
  const bool goes_on = window_bytes_ > 0 && kept_.is_near(missing, least_window);
  if (is_small) window_bytes_ = goes_on ? std::min(2 * window_bytes_, widest_window) : least_window;
  const std::uint64_t wanted = is_small ? window_bytes_ : missing.size;
  const std::uint64_t margin = wanted_in_all < least_read_with_margin ? 0 : widest_margin;
  const std::uint64_t begin = std::max(gap.offset, missing.offset - std::min(missing.offset, margin));
  const std::uint64_t end = std::min(gap.end(), std::max(missing.end() + margin, missing.offset + wanted));
  return {begin, end - begin};
}

void HttpSource::fetch_ahead(std::vector<Span> ranges) const {
  std::erase_if(ranges, [&](Span range) { return range.offset > size_ || range.size > size_ - range.offset; });
  std::unique_lock lock(mutex_);
  for (Span& range : ranges) range = kept_.missing(range);
  const std::vector<Span> runs = runs_of(std::move(ranges), most_ahead_bytes - ahead_bytes_);
  const HttpObject object = object_;
  lock.unlock();
  const auto fetch_one = [&](std::size_t i) {
    HttpObject asked = object;
    HttpRange found = client_->get(asked, runs[i]);
    const std::lock_guard keeping(mutex_);
    const Bytes bytes = require_same(std::move(found), runs[i]);
    ahead_bytes_ += bytes.size();
    kept_.keep(runs[i].offset, bytes, Keep::always);
  };
  for_each_waiting(runs.size(), fetch_one, {}, client_->spare());
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
