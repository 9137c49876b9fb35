#include "lib/dialect/telltales.hpp"

#include <algorithm>
#include <bit>

namespace tare {
namespace {

/// The first field of each dialect's table is a key that hardly anything else has. Most keys differ in their lengths.
class FirstFields {
 public:
  FirstFields() {
    for (const Dialect* dialect : dialects()) {
      if (dialect->find_in != nullptr) continue;
      const std::string_view key = dialect->fields.front().name;
      lengths_ |= std::uint64_t{1} << key.size();
      if (std::ranges::find(keys_, key) == keys_.end()) keys_.push_back(key);
    }
  }

  [[nodiscard]] bool has(std::string_view key) const {
    return key.size() < 64 && (lengths_ >> key.size() & 1) != 0 && std::ranges::find(keys_, key) != keys_.end();
  }

 private:
  std::uint64_t lengths_ = 0;
  std::vector<std::string_view> keys_;
};

/// What finders ask for. A key without "scale" has no "loss_scaler": the shorter word is looked for first.
class FinderWords {
 public:
  FinderWords() {
    std::vector<std::string_view> texts;
    for (const Dialect* dialect : dialects()) {
      const std::string_view word = dialect->telling_word;
      if (dialect->find_in == nullptr || word.empty()) continue;
      if (std::ranges::find(texts, word) == texts.end()) texts.push_back(word);
    }
    std::ranges::stable_sort(texts, {}, &std::string_view::size);
    for (const std::string_view text : texts) {
      std::uint64_t parts = 0;
      for (const Word& shorter : words_) {
        if (text.find(shorter.text) != text.npos) parts |= shorter.bit;
      }
      words_.push_back({text, std::uint64_t{1} << words_.size(), parts});
    }
    for (const Dialect* dialect : dialects()) {
      if (dialect->find_in != nullptr) finders_.push_back({dialect, bit_of(dialect->telling_word)});
    }
  }

  [[nodiscard]] std::span<const TellingFinder> finders() const { return finders_; }

  [[nodiscard]] std::uint64_t in(std::string_view key) const {
    std::uint64_t found = 0;
    for (const Word& word : words_) {
      if ((word.parts & ~found) == 0 && key.find(word.text) != key.npos) found |= word.bit;
    }
    return found;
  }

 private:
  struct Word {
    std::string_view text;
    std::uint64_t bit;
    std::uint64_t parts;  ///< shorter words in it
  };

  [[nodiscard]] std::uint64_t bit_of(std::string_view text) const {
    const auto word = std::ranges::find(words_, text, &Word::text);
    return word == words_.end() ? 0 : word->bit;
  }

  std::vector<Word> words_;
  std::vector<TellingFinder> finders_;
};

const FinderWords& finder_words() {
  static const FinderWords words;
  return words;
}

Told told_of(const Tree& tree, NodeId map) {
  static const FirstFields first_fields;
  const auto pairs = tree.items(map);
  const bool may_be_scaler = pairs.size() <= 2 * max_keys;
  Told told;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (tree.kind(pairs[i]) != Kind::string) continue;
    const std::string_view key = tree.text(pairs[i]);
    told.has_telltale = told.has_telltale || (may_be_scaler && first_fields.has(key));
    told.words |= finder_words().in(key);
  }
  return told;
}

}  // namespace

std::span<const TellingFinder> telling_finders() {
  return finder_words().finders();
}

bool Telltales::has_keys_of_last(NodeId map) const {
  if (last_ == nowhere) return false;
  const auto pairs = tree_.items(map), last = tree_.items(last_);
  if (pairs.size() != last.size()) return false;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (pairs[i] != last[i]) return false;
  }
  return true;
}

const Told& Telltales::of(NodeId map) {
  if (!has_keys_of_last(map)) told_ = told_of(tree_, map);
  last_ = map;
  return told_;
}

}  // namespace tare
