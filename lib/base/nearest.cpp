#include "lib/base/nearest.hpp"

#include <algorithm>
#include <vector>

#include "lib/base/letters.hpp"

namespace tare {
namespace {

/// Words are short; what a file calls its fields may not be.
constexpr std::size_t most_letters = 64;

bool same_letter(char a, char b) {
  return small_letter(a) == small_letter(b);
}

/// Row by row (Damerau and Levenshtein's distance, each neighbouring pair swapped once).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (is_swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > most_letters) return {};
  std::string_view found;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > most_letters) continue;
    const std::size_t steps = distance(word, candidate);
    if (steps >= least) continue;
    least = steps;
    found = candidate;
  }
  return found;
}

}  // namespace tare
