#include "lib/container/safetensors/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/file_change.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

constexpr std::uint64_t data_alignment = 8;  ///< of what follows a header, as the format's own writer has it

class Layout {
 public:
  Layout(const Source& image, const SafetensorsHeader& header, const NewTensors& anew)
      : image_(image), header_(header), anew_(anew), order_(header.entries.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const Span left = header.entries[a].place, right = header.entries[b].place;
      return left.offset != right.offset ? left.offset < right.offset : left.size < right.size;
    });
    lay_out();
  }

  FileChange change(const std::string& meaning) const {
    const Bytes old_header = image_.read({safetensors_length_size, header_.data.offset - safetensors_length_size});
    Bytes anew = new_header(as_text(old_header));
    FileChange change;
    if (anew.size() > old_header.size()) {
      change.splice = with_longer_header(std::move(anew), meaning);
      return change;
    }
    anew.resize(old_header.size(), std::byte{' '});
    change.patches = differing_runs(old_header, anew, safetensors_length_size, "places of tensors in the header");
    change.splice = Splice{moved_.offset, image_.read(moved_), tail_, meaning};
    return change;
  }

 private:
  [[noreturn]] void refuse(std::uint64_t bytes) const {
    throw Error(Status::refused,
                fmt::format("{}: {} bytes of other tensors would have to move: safetensors leaves no gaps",
                            image_.name(), bytes),
                "load the file with the safetensors library and save it anew, without or with other tensors of state");
  }

  /// Where every tensor comes to stand, and the bytes from the first that changes on.
  void lay_out() {
    moved_ = {header_.data.end(), 0};
    for (const auto& [number, bytes] : anew_) {
      moved_.offset = std::min(moved_.offset, header_.entries[number].place.offset);
    }
    moved_.size = header_.data.end() - moved_.offset;
    if (moved_.size > limits::max_tensor_read_bytes) refuse(moved_.size);
    places_.resize(order_.size());
    std::uint64_t at = 0;
    for (const std::size_t number : order_) {
      const Span old = header_.entries[number].place;
      const auto anew = anew_.find(number);
      Span& place = places_[number] = {at, old.size};
      if (anew != anew_.end()) {
        const Bytes bytes = anew->second.value_or(Bytes());
        place.size = bytes.size();
        std::copy(bytes.begin(), bytes.end(), std::back_inserter(tail_));
      } else if (old.offset >= moved_.offset) {
        const Bytes bytes = image_.read(old);
        std::copy(bytes.begin(), bytes.end(), std::back_inserter(tail_));
      }
      at = place.end();
    }
    if (tail_.size() > limits::max_tensor_read_bytes) refuse(tail_.size());
  }

  /// The members that stay, with what stood between them. `old`: from behind the length on.
  [[nodiscard]] Bytes new_header(std::string_view old) const {
    std::vector<std::pair<Span, const SafetensorsEntry*>> members;
    for (const SafetensorsEntry& entry : header_.entries) members.emplace_back(entry.member(), &entry);
    if (header_.metadata_member.size > 0) members.emplace_back(header_.metadata_member, nullptr);
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.first.offset < b.first.offset; });
    const auto part = [&](std::uint64_t from, std::uint64_t to) {
      return old.substr(from - safetensors_length_size, to - from);
    };
    std::string text(part(safetensors_length_size, members.front().first.offset));
    bool is_first = true;
    std::uint64_t end = members.front().first.offset;
    for (const auto& [member, entry] : members) {
      const bool goes = entry != nullptr && is_gone(*entry);
      if (!goes && !is_first) text.append(part(end, member.offset));
      end = member.end();
      if (goes) continue;
      is_first = false;
      text.append(entry == nullptr ? std::string(part(member.offset, member.end())) : new_member(old, *entry));
    }
    const std::string_view rest = part(end, header_.data.offset);
    text.append(rest.substr(0, rest.find_last_not_of(' ') + 1));
    const ByteView bytes = as_bytes(text);
    return {bytes.begin(), bytes.end()};
  }

  [[nodiscard]] std::size_t number_of(const SafetensorsEntry& entry) const {
    return static_cast<std::size_t>(&entry - header_.entries.data());
  }
  [[nodiscard]] bool is_gone(const SafetensorsEntry& entry) const {
    const auto anew = anew_.find(number_of(entry));
    return anew != anew_.end() && !anew->second;
  }

  [[nodiscard]] std::string new_member(std::string_view old, const SafetensorsEntry& entry) const {
    const Span place = places_[number_of(entry)];
    std::string text(old.substr(entry.described.first - safetensors_length_size, entry.described.count));
    // The lists of its shape and its place.
    const std::string object = "{" + text + "}";
    const PlainTree member = read_json(as_bytes(object), image_.name());
    const NodeId described = member.tree().items(member.tree().root)[1];
    const auto place_of = [&](std::string_view key) { return member.place(member.tree().find(described, key)); };
    const Span shape_text = place_of("shape"), place_text = place_of("data_offsets");
    const auto replace = [&](Span what, const std::string& with) {
      text.replace(what.offset - 1, what.size, with);  // behind the brace
    };
    const bool moves = header_.data.offset + place.offset != entry.place.offset || place.size != entry.place.size;
    const std::string offsets = fmt::format("[{},{}]", place.offset, place.end());
    const std::string shape = fmt::format("[{}]", place.size / std::max<std::uint64_t>(entry.type().size, 1));
    const bool is_resized = anew_.contains(number_of(entry)) && place.size != entry.place.size;
    // From behind, so that places in front stay.
    const bool is_shape_last = shape_text.offset > place_text.offset;
    if (is_resized && is_shape_last) replace(shape_text, shape);
    if (moves) replace(place_text, offsets);
    if (is_resized && !is_shape_last) replace(shape_text, shape);
    return text;
  }

  /// All of a file that is small.
  [[nodiscard]] Splice with_longer_header(Bytes anew, const std::string& meaning) const {
    if (image_.size() > limits::max_tensor_read_bytes) refuse(image_.size());
    anew.resize((anew.size() + data_alignment - 1) / data_alignment * data_alignment, std::byte{' '});
    Bytes after;
    append_le(after, static_cast<std::uint64_t>(anew.size()));
    const Bytes kept = image_.read({header_.data.offset, moved_.offset - header_.data.offset});
    for (const Bytes* bytes : {&std::as_const(anew), &kept, &tail_}) {
      std::copy(bytes->begin(), bytes->end(), std::back_inserter(after));
    }
    return {0, image_.read(Span{0, image_.size()}), std::move(after), meaning};
  }

  const Source& image_;
  const SafetensorsHeader& header_;
  const NewTensors& anew_;
  std::vector<std::size_t> order_;  ///< entries by their places
  std::vector<Span> places_;        ///< by entry, from the data's begin on
  Span moved_;                      ///< in the image: from the first tensor that changes to the end
  Bytes tail_;                      ///< what stands there then
};

}  // namespace

FileChange relaid(const Source& image, const SafetensorsHeader& header, const NewTensors& anew,
                  const std::string& meaning) {
  return Layout(image, header, anew).change(meaning);
}

}  // namespace tare
