#include "lib/container/pickle/write/frame.hpp"

#include <algorithm>
#include <iterator>

#include "lib/container/pickle/read/opcode.hpp"

namespace tare {
namespace {

constexpr std::uint64_t frame_length_size = sizeof(std::uint64_t);

/// Replacements in their order.
class Moves {
 public:
  explicit Moves(std::vector<Replacement>& replacements) : all_(replacements) {
    std::sort(all_.begin(), all_.end(), [](const auto& a, const auto& b) { return a.place.offset < b.place.offset; });
  }

  /// Where the opcode of a frame is replaced together with what stands around it.
  Replacement* that_takes(std::uint64_t opcode) {
    const auto behind = std::upper_bound(all_.begin(), all_.end(), opcode,
                                         [](std::uint64_t at, const Replacement& r) { return at < r.place.offset; });
    if (behind == all_.begin() || std::prev(behind)->place.end() <= opcode) return nullptr;
    return &*std::prev(behind);
  }

  /// How long a run becomes. What is replaced belongs to where that begins.
  [[nodiscard]] std::uint64_t new_size(Span run) const {
    std::uint64_t size = run.size;
    auto move = std::lower_bound(all_.begin(), all_.end(), run.offset,
                                 [](const Replacement& r, std::uint64_t at) { return r.place.offset < at; });
    for (; move != all_.end() && is_in(move->place, run); ++move) {
      size += move->after.size();
      size -= std::min(move->place.end(), run.end()) - move->place.offset;
    }
    return size;
  }

 private:
  /// What is only added at the end of a run belongs to it.
  static bool is_in(Span place, Span run) {
    return place.offset < run.end() || (place.size == 0 && place.offset == run.end());
  }

  std::vector<Replacement>& all_;
};

Bytes length_of(std::uint64_t size) {
  Bytes length;
  append_le(length, size);
  return length;
}

}  // namespace

void mend_frames(std::span<const Span> frames, std::vector<Replacement>& replacements) {
  Moves moves(replacements);
  std::vector<Replacement> lengths;
  std::vector<std::pair<Replacement*, Bytes>> begun;
  for (const Span& frame : frames) {
    Replacement* const taken = moves.that_takes(frame.offset - frame_length_size - 1);
    if (taken == nullptr) {
      const std::uint64_t size = moves.new_size(frame);
      if (size != frame.size)
        lengths.push_back({{frame.offset - frame_length_size, frame_length_size}, length_of(size)});
    } else if (taken->place.end() < frame.end()) {
      const std::uint64_t rest = taken->place.end();
      Bytes opcode{static_cast<std::byte>(Opcode::frame)};
      append_le(opcode, moves.new_size({rest, frame.end() - rest}));
      begun.emplace_back(taken, std::move(opcode));
    }
  }
  for (const auto& [taken, opcode] : begun) {
    std::copy(opcode.begin(), opcode.end(), std::back_inserter(taken->after));
  }
  std::move(lengths.begin(), lengths.end(), std::back_inserter(replacements));
}

}  // namespace tare
