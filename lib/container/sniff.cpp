#include "lib/container/sniff.hpp"

#include <algorithm>
#include <array>

#include "lib/base/letters.hpp"
#include "lib/base/read_double.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  std::string_view what;
  std::string_view hint;
};

constexpr auto unpack = "unpack it first"sv;
constexpr auto unfinished = "the write or the copy never finished; take another copy"sv;
constexpr auto of_zeros = "a crash or an unfinished copy leaves such files; take another copy"sv;
constexpr auto cut_off = "take another copy"sv;
constexpr auto pointer = "run `git lfs pull`: the checkpoint itself is not here"sv;
/// Of what was a checkpoint, or was to be one.
constexpr auto damage = std::to_array<std::string_view>({unfinished, of_zeros, cut_off, pointer});
constexpr auto fetch_again = "the download did not give the file itself: fetch it again"sv;
constexpr auto signatures = std::to_array<Signature>({
    {"\x28\xb5\x2f\xfd"sv, "a zstd file", unpack},
    {"BZh"sv, "a bzip2 file", unpack},
    {"\xfd\x37zXZ\0"sv, "an xz file", unpack},
    {"\x04\x22\x4d\x18"sv, "an lz4 file", unpack},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", unpack},
    {"Rar!\x1a\x07"sv, "a rar archive", unpack},
    {"version https://git-lfs"sv, "a Git LFS pointer", pointer},
    {"<!DOCTYPE"sv, "a web page", fetch_again},
    {"<!doctype"sv, "a web page", fetch_again},
    {"<html"sv, "a web page", fetch_again},
    {"<?xml"sv, "an XML file", fetch_again},
    {"GGUF"sv, "a GGUF model", ""},
    {"\x7f"
     "ELF"sv,
     "a program", ""},
    {"%PDF-"sv, "a PDF document", ""},
    {"\x89PNG"sv, "an image", ""},
    {"SQLite format 3\0"sv, "an SQLite database", ""},
    {"PK\5\6"sv, "an empty zip archive", ""},
    {"\xd8\x5e\x3a\x7f"sv, "an encrypted MindSpore checkpoint", "decrypt it with MindSpore first"},
    {"\xd9\x5e\x3a\x7f"sv, "an encrypted MindSpore checkpoint", "decrypt it with MindSpore first"},
    {"\xda\x5e\x3a\x7f"sv, "an encrypted MindSpore checkpoint", "decrypt it with MindSpore first"},
});

bool is_plain_text(std::string_view text) {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  };
  // The head may end inside a character.
  for (std::size_t cut = 0; cut < 4 && cut < text.size(); ++cut) {
    if (is_utf8(text.substr(0, text.size() - cut))) return std::none_of(text.begin(), text.end(), is_control);
  }
  return false;
}

/// What stands behind a list's bracket: an item, or the end of all. Lines of many logs begin with a moment or a rank in
/// brackets: "[2024-05-01 12:00:00] step 1", "[0] step 1".
bool starts_like_items(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  constexpr std::string_view openings = "\"{[";
  if (openings.find(text[0]) != openings.npos) return true;
  const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n,]"));
  double number = 0;
  const bool is_number = text[0] == '-' || is_digit(text[0]);
  const bool is_value =
      word == "true" || word == "false" || word == "null" ||
      (is_number && read_double(word.data(), word.data() + word.size(), number).ptr == word.data() + word.size());
  if (!is_value && !word.empty()) return false;
  const std::size_t behind = text.find_first_not_of(space, word.size());
  if (behind == text.npos || text[behind] == ',') return !word.empty();
  return text[behind] == ']' && text.find_first_not_of(space, behind + 1) == text.npos;
}

}  // namespace

bool tells_of_damage(const Error& error) {
  const bool is_damage = std::ranges::find(damage, error.hint) != damage.end();
  return error.status == Status::corrupt || (error.status == Status::unsupported && is_damage);
}

bool starts_like_json(ByteView head) {
  constexpr std::string_view space = " \t\r\n";
  const std::string_view text = as_text(head);
  if (!is_plain_text(text)) return false;
  const std::size_t bracket = text.find_first_not_of(space);
  if (bracket == text.npos || (text[bracket] != '{' && text[bracket] != '[')) return false;
  const std::size_t next = text.find_first_not_of(space, bracket + 1);
  if (next == text.npos) return false;
  return text[bracket] == '{' ? text[next] == '"' || text[next] == '}' : starts_like_items(text.substr(next));
}

Likeness likeness_of(ByteView head) {
  if (head.empty()) return {"an empty file", std::string(unfinished)};
  const std::string_view text = as_text(head);
  for (const Signature& known : signatures) {
    if (text.starts_with(known.bytes)) return {std::string(known.what), std::string(known.hint)};
  }
  if (std::all_of(head.begin(), head.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return {"a file that starts with zero bytes", std::string(of_zeros)};
  }
  if (std::string_view("PK\3\4").starts_with(text)) return {"a zip archive cut off at once", std::string(cut_off)};
  if (is_plain_text(text)) return {"a text file", ""};
  return {"nothing that tare knows", ""};
}

}  // namespace tare
