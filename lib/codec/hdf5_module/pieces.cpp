#include "lib/codec/hdf5_module/pieces.hpp"

#include <algorithm>
#include <functional>

namespace tare::hdf5 {
namespace {

constexpr std::array<std::byte, 65536> zeros{};

}  // namespace

bool Pieces::is_lent(std::span<const std::byte> bytes) const {
  const std::less_equal<> before;
  return !bytes.empty() && before(lent_.data(), bytes.data()) &&
         before(bytes.data() + bytes.size(), lent_.data() + lent_.size());
}

void Pieces::write(std::uint64_t at, std::span<const std::byte> bytes) {
  end_ = std::max(end_, at + bytes.size());
  if (is_lent(bytes)) {
    borrowed_[at] = bytes;
  } else {
    keep(at, bytes);
  }
}

void Pieces::keep(std::uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    std::unique_ptr<Page>& page = pages_[at / page_bytes];
    if (page == nullptr) page = std::make_unique<Page>();
    const std::uint64_t begin = at % page_bytes;
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), page_bytes - begin);
    std::ranges::copy(bytes.first(count), page->begin() + static_cast<std::ptrdiff_t>(begin));
    at += count;
    bytes = bytes.subspan(count);
  }
}

void Pieces::read(std::uint64_t at, std::span<std::byte> to) const {
  std::uint64_t begin = 0;
  for (const tare_hdf5_piece& piece : in_order(at + to.size())) {
    const std::span bytes(static_cast<const std::byte*>(piece.data), piece.size);
    const std::uint64_t skipped = std::min<std::uint64_t>(at > begin ? at - begin : 0, piece.size);
    begin += piece.size;
    std::ranges::copy(bytes.subspan(skipped), to.begin());
    to = to.subspan(bytes.size() - skipped);
  }
}

/// What stands there of the pages.
void Pieces::add_pages(std::uint64_t at, std::uint64_t end, std::vector<tare_hdf5_piece>& into) const {
  while (at < end) {
    const auto page = pages_.find(at / page_bytes);
    const std::uint64_t begin = at % page_bytes;
    const std::uint64_t count = std::min(end - at, page_bytes - begin);
    into.push_back({(page == pages_.end() ? zeros : *page->second).data() + begin, count});
    at += count;
  }
}

std::vector<tare_hdf5_piece> Pieces::in_order(std::uint64_t size) const {
  std::vector<tare_hdf5_piece> all;
  std::uint64_t at = 0;
  for (const auto& [begin, bytes] : borrowed_) {
    if (begin >= size) break;
    add_pages(at, begin, all);
    const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), size - begin);
    all.push_back({bytes.data(), count});
    at = begin + count;
  }
  add_pages(at, size, all);
  return all;
}

}  // namespace tare::hdf5
