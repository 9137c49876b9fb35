#include "lib/trace/text/scan.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "lib/base/letters.hpp"
#include "lib/trace/text/unwrapped.hpp"

namespace tare {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 19;
constexpr std::size_t block = 64;

/// Whether a trigger begins in the `block` bytes from `p` on; three more are read. A loop that compilers make SIMD of.
bool has_trigger(const char* p) {
  unsigned char found = 0;
  for (std::size_t i = 0; i < block; ++i) {
    const char a = p[i], b = p[i + 1], c = p[i + 2], d = p[i + 3];
    const bool scale = (a == 'c') & (b == 'a') & (c == 'l') & ((d == 'e') | (d == 'i'));
    const bool flow = (a == 'f') & (b == 'l') & (c == 'o') & (d == 'w');
    const bool capitals = (a == 'F') & (b == 'L') & (c == 'O') & (d == 'W');
    const bool skip = (a == 'k') & (b == 'i') & (c == 'p') & (d == 'p');
    const bool epoch = (a == 'c') & (b == 'h') & (c == ' ') & (d == 'p');
    const bool loss = ((a == 'l') | (a == 'L')) & (b == 'o') & (c == 's') & (d == 's');
    found |= static_cast<unsigned char>(scale | flow | capitals | skip | epoch | loss);
  }
  return found != 0;
}

std::uint32_t four_letters_at(const char* p) {
  std::uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

bool is_trigger(const char* p) {
  const std::uint32_t found = four_letters_at(p);
  return std::any_of(triggers.begin(), triggers.end(),
                     [found](std::string_view word) { return found == four_letters_at(word.data()); });
}

std::uint32_t hashed(std::string_view text) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash == 0 ? 1 : hash;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}
/// Cuts a buffer into lines and hands out those that are wanted.
class Lines {
 public:
  Lines(WhichLines which, const TakeLine& take, const ScannedBefore& before)
      : which_(which), take_(take), number_(before.lines), wants_more_(before.wants_more) {}

  /// The whole lines of `text`, which has room for a block behind it; how much of it they are.
  std::size_t take(std::string_view text) {
    const std::size_t last = std::string_view::npos == text.rfind('\n') ? 0 : text.rfind('\n') + 1;
    walk(text.substr(0, last));
    return last;
  }

  /// What no newline ends, at the end of the file or because it is long.
  void take_rest(std::string_view text, bool is_end) {
    is_cut_ = is_end;
    walk(text);
    is_cut_ = false;
  }

 private:
  void walk(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
      if (which_ != WhichLines::all && !wants_more_) {
        const std::size_t hit = find_trigger(text, at);
        if (hit == text.size()) break;
        const std::size_t newline = text.substr(at, hit - at).rfind('\n');
        if (newline != text.npos) {
          number_ += static_cast<std::uint64_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                           text.begin() + static_cast<std::ptrdiff_t>(at + newline + 1),
                                                           '\n'));
          at += newline + 1;
        }
      }
      std::size_t end = text.find('\n', at);
      if (end == text.npos) end = text.size();
      give(text.substr(at, end - at), end == text.size());
      if (end < text.size()) ++number_;
      at = end + 1;
    }
    if (at < text.size()) {
      number_ +=
          static_cast<std::uint64_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), '\n'));
    }
  }

  /// Between carriage returns stand states of progress bars, of which the message's own is the last.
  void give(std::string_view line, bool is_last) {
    if (which_ == WhichLines::with_trigger) line = without_wrapper(line);
    const bool is_cut = is_cut_ && is_last && !line.ends_with('\r');
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    while (!line.empty()) {
      const std::size_t end = std::min(line.find('\r'), line.size());
      const std::string_view part = line.substr(0, end);
      const bool has_more = end < line.size();
      line.remove_prefix(has_more ? end + 1 : end);
      if (part.empty()) continue;
      if (has_more && which_ != WhichLines::all && find_trigger_in(part) == part.size()) continue;
      const std::string_view plain = without_escapes(part, plain_);
      wants_more_ = take_({plain, number_ + 1, teller_of(plain), is_cut && !has_more});
    }
  }

  /// A line that is itself an object of numbers may have a text beside them, which tells nothing.
  std::string_view without_wrapper(std::string_view line) {
    const std::string_view inner = unwrapped(line, unwrapped_);
    return wants_more_ || find_trigger_in(inner) < inner.size() ? inner : line;
  }

  static std::size_t find_trigger_in(std::string_view part) {
    for (std::size_t i = 0; i + triggers[0].size() <= part.size(); ++i) {
      if (is_trigger(part.data() + i)) return i;
    }
    return part.size();
  }

  WhichLines which_;
  const TakeLine& take_;
  std::uint64_t number_;
  bool wants_more_;
  bool is_cut_ = false;
  std::string plain_, unwrapped_;
};

}  // namespace

std::size_t find_trigger(std::string_view text, std::size_t from) {
  constexpr std::size_t more = 3;
  std::size_t at = from;
  for (; at + block + more <= text.size(); at += block) {
    if (!has_trigger(text.data() + at)) continue;
    for (std::size_t i = at;; ++i) {
      if (is_trigger(text.data() + i)) return i;
    }
  }
  for (; at + triggers[0].size() <= text.size(); ++at) {
    if (is_trigger(text.data() + at)) return at;
  }
  return text.size();
}

void scan_lines(ByteStream& stream, WhichLines which, const TakeLine& take, const ScannedBefore& before) {
  std::vector<char> buffer(buffer_bytes);
  Lines lines(which, take, before);
  std::size_t size = 0;
  while (const std::size_t more = stream.read(std::as_writable_bytes(std::span(buffer).subspan(size)))) {
    size += more;
    std::size_t done = lines.take({buffer.data(), size});
    if (done == 0 && size == buffer.size()) {
      lines.take_rest({buffer.data(), size}, false);
      done = size;
    }
    std::memmove(buffer.data(), buffer.data() + done, size - done);
    size -= done;
  }
  lines.take_rest({buffer.data(), size}, true);
}

WholePart whole_lines(const Source& file, std::uint64_t begin) {
  constexpr std::uint64_t most = std::uint64_t{64} << 20;
  const std::uint64_t end = file.size() - begin > most ? begin + most : file.size();
  std::vector<char> buffer(buffer_bytes);
  WholePart part{begin};
  for (std::uint64_t at = begin; at < end;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, buffer.size()));
    file.read(at, std::as_writable_bytes(std::span(buffer).first(size)));
    const std::string_view text(buffer.data(), size);
    const std::size_t newline = text.rfind('\n');
    const std::size_t last = newline != text.npos ? newline : text.rfind('\r');  // bars end in nothing else
    part.count += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    if (last != text.npos) {
      part.end = at + last + 1;
    } else if (at - part.end >= buffer.size()) {
      part.end = at + size;
    }
    at += size;
  }
  return part;
}

std::uint32_t teller_of(std::string_view line) {
  constexpr std::size_t most = 64;
  line = line.substr(0, most);
  if (line.empty()) return 0;
  if (line[0] == '[') {
    const std::size_t end = line.find(']');
    if (end == line.npos || end < 2 || !is_digit(line[end - 1])) return 0;
    const std::string_view behind = line.substr(end + 1);
    return behind.starts_with(":") || behind.starts_with("<std") ? hashed(line.substr(0, end)) : 0;
  }
  if (line[0] == '(') {
    const std::size_t end = line.find(')');
    const std::size_t process = line.find(" pid=");  // another one after each restart
    return process < end && end != line.npos ? hashed(line.substr(0, process)) : 0;
  }
  std::size_t end = 0;
  while (end < line.size() && is_word(line[end])) ++end;
  const bool is_prefix = end > 0 && is_digit(line[end - 1]) && line.substr(end).starts_with(": ");
  return is_prefix ? hashed(line.substr(0, end)) : 0;
}

std::string_view without_escapes(std::string_view line, std::string& kept) {
  constexpr char escape = '\x1b';
  std::size_t at = line.find(escape);
  if (at == line.npos) return line;
  kept.assign(line.substr(0, at));
  while (at < line.size()) {
    ++at;  // the escape
    if (at < line.size() && line[at] == '[') {
      ++at;
      while (at < line.size() && (line[at] < '@' || line[at] > '~')) ++at;
    }
    at = std::min(at + 1, line.size());
    const std::size_t next = std::min(line.find(escape, at), line.size());
    kept.append(line.substr(at, next - at));
    at = next;
  }
  return kept;
}

}  // namespace tare
