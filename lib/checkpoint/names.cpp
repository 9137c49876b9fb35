#include "lib/checkpoint/names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "lib/base/file_path.hpp"
#include "lib/base/glob.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

// zero_pp_rank_0, tp_rank_00, -rank0 and the like all end in the word "rank".
constexpr auto usual_rank_words = std::to_array<RankWord>({
    {"mp_rank", true, 3},        // Megatron, DeepSpeed
    {"rank", false, 1},          // zero_pp_rank_0, tp_rank_00, rank0, rank-0
    {"shard", false, 1},         // fairseq, with FSDP
    {"model_part", true, 1},     // fairseq, with model parallelism
    {"random_states", true, 1},  // accelerate
    {"mp", true, 1},
    {"tp", true, 1},
    {"pp", true, 1},
    {"dp", true, 1},
    {"ep", true, 1},
    {"cp", true, 1},
    {"__", false, 2},  // torch's distributed checkpoints: __3_0.distcp, __3.metadata
});

/// Those of trainers, too.
const std::vector<RankWord>& rank_words() {
  static const std::vector<RankWord> all = [] {
    std::vector<RankWord> words(usual_rank_words.begin(), usual_rank_words.end());
    for (const Trainer* trainer : trainers()) {
      words.insert(words.end(), trainer->rank_words.begin(), trainer->rank_words.end());
    }
    return words;
  }();
  return all;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_separator(char c) {
  return c == '_' || c == '-';
}

std::size_t digits_end(std::string_view text, std::size_t from) {
  while (from < text.size() && is_digit(text[from])) ++from;
  return from;
}

/// Whether a word begins there, and does not go on.
bool is_word_begin(std::string_view path, std::size_t at) {
  return at == 0 || !(is_letter(path[at - 1]) || is_digit(path[at - 1]));
}

/// Where the numbers behind `word` at `at`, where a word begins, begin; npos where it is no rank there.
std::size_t number_begin(std::string_view path, std::size_t at, const RankWord& word) {
  if (path.substr(at, word.word.size()) != word.word) return std::string_view::npos;
  std::size_t next = at + word.word.size();
  const bool has_separator = next < path.size() && is_separator(path[next]);
  if (word.needs_separator && !has_separator) return std::string_view::npos;
  if (has_separator) ++next;
  return next < path.size() && is_digit(path[next]) ? next : std::string_view::npos;
}

std::size_t numbers_end(std::string_view path, std::size_t begin, std::size_t most) {
  std::size_t end = digits_end(path, begin);
  for (std::size_t n = 1; n < most && end + 1 < path.size() && path[end] == '_' && is_digit(path[end + 1]); ++n) {
    end = digits_end(path, end + 1);
  }
  return end;
}

/// MindSpore's parallel training saves each rank's file in a folder of its own: ckpt_7/rank_7.ckpt. Where the number in
/// the folder's name ends; `at` where it is no rank's folder (a step's is called that way, too).
std::size_t own_folder_end(std::string_view path, std::size_t at) {
  constexpr std::string_view word = "ckpt_";
  if ((at > 0 && path[at - 1] != '/') || path.substr(at, word.size()) != word) return at;
  const std::size_t begin = at + word.size();
  const std::size_t end = digits_end(path, begin);
  constexpr std::string_view file = "/rank_";
  if (end == begin || path.substr(end, file.size()) != file) return at;
  const std::size_t rank = end + file.size();
  return path.substr(rank, digits_end(path, rank) - rank) == path.substr(begin, end - begin) ? end : at;
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

std::optional<RankName> rank_name(std::string_view path) {
  RankName name;
  for (std::size_t at = 0; at < path.size();) {
    const auto fits = [&](const RankWord& word) {
      return number_begin(path, at, word) != std::string_view::npos &&
             (word.file.empty() || glob_matches(word.file, file_name(path)));
    };
    const auto words = is_word_begin(path, at) ? rank_words() : std::span<const RankWord>();
    const auto word = std::ranges::find_if(words, fits);
    if (const std::size_t end = own_folder_end(path, at); end > at) {
      name.group += "ckpt_*";
      at = end;
      continue;
    }
    if (word == words.end()) {
      name.group += path[at++];
      continue;
    }
    name.group += word->word;
    name.group += '*';
    const std::size_t begin = number_begin(path, at, *word);
    at = numbers_end(path, begin, word->numbers);
    for (std::size_t digits = begin; digits < at; digits = digits_end(path, digits) + 1) {
      std::uint64_t number = 0;
      std::from_chars(path.data() + digits, path.data() + at, number);
      name.numbers.push_back(number);
      name.places.emplace_back(digits, digits_end(path, digits));
    }
  }
  return name.numbers.empty() ? std::nullopt : std::optional(std::move(name));
}

std::optional<std::string> rank_group(std::string_view path) {
  auto name = rank_name(path);
  return name ? std::optional(std::move(name->group)) : std::nullopt;
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
  std::string lower(name.substr(dot));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

}  // namespace tare
