#include "lib/checkpoint/names.hpp"

#include <algorithm>
#include <array>

#include "lib/base/file_path.hpp"
#include "lib/base/letters.hpp"

namespace tare {
namespace {

constexpr auto checkpoint_endings = std::to_array<std::string_view>({".pt", ".pth", ".ckpt", ".tar"});

std::size_t digits_end(std::string_view text, std::size_t from) {
  while (from < text.size() && is_digit(text[from])) ++from;
  return from;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      // A folder's own files stand before those of its neighbours with longer names.
      const int x = a[i] == '/' ? -1 : static_cast<unsigned char>(a[i]);
      const int y = b[j] == '/' ? -1 : static_cast<unsigned char>(b[j]);
      if (x != y) return x < y;
      ++i, ++j;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    const std::string_view x = a.substr(i, digits_end(a, i) - i);
    const std::string_view y = b.substr(j, digits_end(b, j) - j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
    i += x.size(), j += y.size();
  }
  if (a.size() - i != b.size() - j) return i == a.size();
  return a < b;
}

bool is_plain_relative(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != std::string_view::npos) return false;
  while (!name.empty()) {
    const std::size_t slash = std::min(name.find('/'), name.size());
    if (name.substr(0, slash) == "..") return false;
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return true;
}

std::string extension(std::string_view path) {
  const std::string_view name = file_name(path);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  return in_small_letters(name.substr(dot));
}

bool is_meant_as_checkpoint(std::string_view path) {
  const std::string ending = extension(path);
  return std::find(checkpoint_endings.begin(), checkpoint_endings.end(), ending) != checkpoint_endings.end();
}

}  // namespace tare
