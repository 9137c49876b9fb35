#include "lib/dialect/rank_name.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "lib/base/file_path.hpp"
#include "lib/base/glob.hpp"
#include "lib/base/letters.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

/// What several write, or nobody's own. zero_pp_rank_0, tp_rank_00, -rank0 and the like all end in the word "rank".
constexpr auto usual_rank_words = std::to_array<RankWord>({
    // Megatron's and DeepSpeed's: mp_rank_TENSOR_PIPELINE_EXPERT
    {.word = "mp_rank", .needs_separator = true, .numbers = 3, .same_layers = 1},
    {.word = "zero_pp_rank", .needs_separator = false},               // DeepSpeed's, of data
    {.word = "pp_rank", .needs_separator = false, .same_layers = 0},  // NeMo's: tp_rank_00_pp_rank_001
    {.word = "rank", .needs_separator = false},                       // zero_pp_rank_0, tp_rank_00, rank0, rank-0
    {.word = "mp", .needs_separator = true},
    {.word = "tp", .needs_separator = true},
    {.word = "pp", .needs_separator = true, .same_layers = 0},
    {.word = "dp", .needs_separator = true},
    {.word = "ep", .needs_separator = true, .same_layers = 0},
    {.word = "cp", .needs_separator = true},
    {.word = "__", .needs_separator = false, .numbers = 2},  // torch's distributed checkpoints: __3_0.distcp
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

/// "*_001" of "00_001" where one number is of ranks that hold the same layers.
std::string layers_of(std::string_view numbers, std::size_t same_layers) {
  std::string layers;
  for (std::size_t at = 0; at < numbers.size(); --same_layers) {
    if (same_layers == 0) return layers.append(numbers.substr(at));
    at = digits_end(numbers, at);
    layers += '*';
    if (at < numbers.size()) layers += numbers[at++];
  }
  return layers;
}

/// Where the number in the name of a rank's own folder ends: ckpt_7/rank_7.ckpt; `at` where it is no such folder (a
/// step's may be called that way, too).
std::size_t own_folder_end(std::string_view path, std::size_t at, const RankWord& word) {
  if (word.own_folder.empty() || path.substr(at, word.own_folder.size()) != word.own_folder) return at;
  const std::size_t begin = at + word.own_folder.size();
  const std::size_t end = digits_end(path, begin);
  if (end == begin || end == path.size() || path[end] != '/') return at;
  const std::size_t rank = number_begin(path, end + 1, word);
  if (rank == std::string_view::npos) return at;
  return path.substr(rank, digits_end(path, rank) - rank) == path.substr(begin, end - begin) ? end : at;
}

}  // namespace

std::optional<RankName> rank_name(std::string_view path) {
  RankName name;
  for (std::size_t at = 0; at < path.size();) {
    const auto fits = [&](const RankWord& word) {
      return number_begin(path, at, word) != std::string_view::npos &&
             (word.file.empty() || glob_matches(word.file, file_name(path)));
    };
    const auto words = is_word_begin(path, at) ? rank_words() : std::span<const RankWord>();
    const auto own_folders = at == 0 || path[at - 1] == '/' ? rank_words() : std::span<const RankWord>();
    const auto word = std::ranges::find_if(words, fits);
    const auto is_own_folder = [&](const RankWord& candidate) { return own_folder_end(path, at, candidate) > at; };
    if (const auto own = std::ranges::find_if(own_folders, is_own_folder); own != own_folders.end()) {
      name.group += own->own_folder;
      name.group += '*';
      name.layers.append(own->own_folder).append(1, '*');
      at = own_folder_end(path, at, *own);
      continue;
    }
    if (word == words.end()) {
      name.group += path[at];
      name.layers += path[at++];
      continue;
    }
    name.group += word->word;
    name.group += '*';
    const std::size_t begin = number_begin(path, at, *word);
    name.layers += path.substr(at, begin - at);
    at = numbers_end(path, begin, word->numbers);
    name.layers += layers_of(path.substr(begin, at - begin), word->same_layers);
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

std::string layers_group(std::string_view path) {
  auto name = rank_name(path);
  return name ? std::move(name->layers) : std::string(path);
}

std::string_view folder_of_group(std::string_view group) {
  const std::size_t slash = group.substr(0, group.find('*')).rfind('/');
  return group.substr(0, slash == group.npos ? 0 : slash + 1);
}

}  // namespace tare
