#include "lib/remote/http_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"

namespace tare {

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
  const std::uint64_t first = offset / block_bytes_;
  const std::uint64_t end = (offset + to.size() - 1) / block_bytes_ + 1;
  if (end - first > most_blocks / 2) {
    const Bytes bytes = fetch({offset, to.size()});
    std::copy(bytes.begin(), bytes.end(), to.begin());
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
  HttpRange found = client_->get(object_, range);
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
