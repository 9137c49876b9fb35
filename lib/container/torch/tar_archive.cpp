#include "lib/container/torch/tar_archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "lib/base/error.hpp"
#include "lib/base/is_zero.hpp"

namespace tare {
namespace {

// Fields are text, numbers octal.
constexpr std::size_t name_size = 100, size_at = 124, size_size = 12, sum_at = 148, sum_size = 8, type_at = 156;
constexpr int octal = 8;

/// torch wrote three; others may have added a few.
constexpr std::size_t most_members = 64;

/// What a plain file's header leaves empty: where a link leads; the front of a long name.
constexpr auto empty_fields = std::to_array<Span>({{157, 100}, {345, 167}});

std::string_view text_field(ByteView header, std::size_t at, std::size_t size) {
  const std::string_view field = as_text(header).substr(at, size);
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

/// Nothing where the field holds no number.
bool read_octal(std::string_view digits, std::uint64_t& number) {
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find(' '));
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number, octal);
  return problem == std::errc() && end == digits.data() + digits.size();
}

class TarReader {
 public:
  explicit TarReader(const Source& source) : source_(source) {}

  TarArchive read() {
    while (archive_.members.size() < most_members && source_.size() - at_ >= tar_block_size && read_member()) {
    }
    look_at_rest();
    return std::move(archive_);
  }

 private:
  void doubt(std::string what) { archive_.doubts.push_back("tar: " + std::move(what)); }

  /// Not at the block of zeros that ends an archive.
  bool read_member() {
    const Bytes header = source_.read({at_, tar_block_size});
    const std::string name(text_field(header, 0, name_size));
    if (name.empty()) return false;
    std::uint64_t size = 0;
    const std::uint64_t data_at = at_ + tar_block_size;
    if (!read_octal(text_field(header, size_at, size_size), size) || size > source_.size() - data_at) {
      throw Error(Status::corrupt, fmt::format("{}: the tar member at {} has no size that fits", source_.name(), at_),
                  "the copy was cut short, or damaged: take another one");
    }
    look_at_header(header, name);
    archive_.members.push_back({name, {data_at, size}});
    const std::uint64_t end = data_at + size;
    at_ = std::min(end + (tar_block_size - end % tar_block_size) % tar_block_size, source_.size());
    if (!is_zero(source_.read({end, at_ - end}))) doubt(fmt::format("bytes stand behind '{}'", name));
    return true;
  }

  void look_at_header(const Bytes& header, const std::string& name) {
    const auto type = static_cast<char>(header[type_at]);
    if (type != '0' && type != '\0') doubt(fmt::format("'{}' is no plain file (type {:02x})", name, type));
    for (const Span field : empty_fields) {
      if (is_zero(ByteView(header).subspan(field.offset, field.size))) continue;
      doubt(fmt::format("the header of '{}' has a link or a longer name", name));
    }
    std::uint64_t stored = 0;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < header.size(); ++i) {
      sum += i >= sum_at && i < sum_at + sum_size ? ' ' : std::to_integer<std::uint64_t>(header[i]);
    }
    const bool is_right = read_octal(text_field(header, sum_at, sum_size), stored) && stored == sum;
    if (!is_right) doubt(fmt::format("the checksum of the header of '{}' is wrong", name));
  }

  void look_at_rest() {
    constexpr std::uint64_t piece_size = std::uint64_t{64} << 10;
    for (std::uint64_t at = at_; at < source_.size(); at += piece_size) {
      const Bytes piece = source_.read({at, std::min(piece_size, source_.size() - at)});
      source_.budget()->take_steps(piece.size());
      if (is_zero(piece)) continue;
      return doubt(fmt::format("bytes stand behind its end at offset {}", at_));
    }
  }

  const Source& source_;
  std::uint64_t at_ = 0;
  TarArchive archive_;
};

}  // namespace

const TarMember* TarArchive::find(std::string_view name) const {
  const auto found =
      std::find_if(members.rbegin(), members.rend(), [&](const TarMember& member) { return member.name == name; });
  return found == members.rend() ? nullptr : &*found;
}

TarArchive read_tar(const Source& source) {
  return TarReader(source).read();
}

}  // namespace tare
