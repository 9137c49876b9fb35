#include "lib/base/shared_bytes.hpp"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

/// Up to here what holds a vector would take more than a copy saves.
constexpr std::size_t small = 256;

bool begins_with(ByteView bytes, ByteView other) {
  return other.size() <= bytes.size() && std::memcmp(bytes.data(), other.data(), other.size()) == 0;
}

}  // namespace

SharedBytes::SharedBytes(Bytes bytes) {
  if (bytes.size() <= small) {
    *this = copy_of(bytes);
    return;
  }
  auto owner = std::make_shared<const Bytes>(std::move(bytes));
  const ByteView view = *owner;
  *this = SharedBytes(std::move(owner), view);
}

SharedBytes::SharedBytes(std::shared_ptr<const void> owner, ByteView view) : size_(view.size()) {
  if (size_ <= few) {
    std::ranges::copy(view, here_.begin());
  } else {
    here_ = std::bit_cast<decltype(here_)>(new Long{std::move(owner), view.data()});
  }
}

SharedBytes::SharedBytes(const SharedBytes& other) : size_(other.size_), here_(other.here_) {
  if (size_ > few) here_ = std::bit_cast<decltype(here_)>(new Long(*other.apart()));
}

SharedBytes::SharedBytes(SharedBytes&& other) noexcept {
  swap(other);
}

SharedBytes& SharedBytes::operator=(SharedBytes other) noexcept {
  swap(other);
  return *this;
}

SharedBytes::~SharedBytes() {
  if (size_ > few) delete apart();
}

void SharedBytes::swap(SharedBytes& other) noexcept {
  std::swap(size_, other.size_);
  std::swap(here_, other.here_);
}

SharedBytes SharedBytes::copy_of(ByteView bytes) {
  if (bytes.size() <= few) return {nullptr, bytes};
  auto owner = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
  std::ranges::copy(bytes, owner.get());
  const ByteView view(owner.get(), bytes.size());
  return {std::move(owner), view};
}

SharedBytes SharedBytes::part(std::size_t offset, std::size_t size) const {
  return {size_ <= few ? nullptr : apart()->owner, view().subspan(offset, size)};
}

bool SharedBytes::same(ByteView a, ByteView b) {
  return a.size() == b.size() && (a.data() == b.data() || std::ranges::equal(a, b));
}

SharedBytes AlikeBytes::held(SharedBytes bytes) {
  if (bytes.size() <= small) return bytes;
  if (begins_with(longest_, bytes)) return longest_.part(0, bytes.size());
  if (longest_.empty() || bytes.size() > longest_.size()) longest_ = bytes;
  return bytes;
}

}  // namespace tare
