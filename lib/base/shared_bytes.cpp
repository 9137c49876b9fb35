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
    std::ranges::copy(view, few_.begin());
  } else {
    owner_ = std::move(owner);
    held_ = view.data();
  }
}

SharedBytes SharedBytes::copy_of(ByteView bytes) {
  if (bytes.size() <= few) return {nullptr, bytes};
  auto owner = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
  std::ranges::copy(bytes, owner.get());
  const ByteView view(owner.get(), bytes.size());
  return {std::move(owner), view};
}

SharedBytes SharedBytes::part(std::size_t offset, std::size_t size) const {
  return {owner_, view().subspan(offset, size)};
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
