#include "lib/base/read_ahead.hpp"

#include <algorithm>

namespace tare {
namespace {

constexpr std::uint64_t far_away = 4096;   ///< read where a reader jumps to
constexpr std::uint64_t in_order = 65536;  ///< where it goes on near the end of what was read last

}  // namespace

void ReadAhead::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_inside(offset, to.size());
  const std::uint64_t end = begin_ + piece_.size();
  if (offset < begin_ || offset + to.size() > end) {
    if (to.size() >= in_order) return whole_->read(offset, to);
    const bool goes_on = offset >= begin_ && offset <= end + far_away;
    const std::uint64_t wanted = std::max<std::uint64_t>(goes_on ? in_order : far_away, to.size());
    piece_.resize(std::min(wanted, size() - offset));
    begin_ = offset;
    whole_->read(offset, piece_);
  }
  std::copy_n(piece_.begin() + static_cast<std::ptrdiff_t>(offset - begin_), to.size(), to.begin());
}

}  // namespace tare
