#include "lib/attest/data_file.hpp"

#include <algorithm>
#include <array>

#include "lib/attest/broken_file.hpp"
#include "lib/attest/named_in_words.hpp"
#include "lib/attest/other_nature.hpp"
#include "lib/attest/sentence_pieces.hpp"
#include "lib/attest/text_by_name.hpp"
#include "lib/base/crc32c.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/text.hpp"
#include "lib/checkpoint/names.hpp"

namespace tare {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t most_text = std::uint64_t{64} << 20;

constexpr auto code_endings = std::to_array<std::string_view>(
    {".py",   ".pyc", ".pyi",  ".pyw", ".pyx", ".pyz", ".ipynb", ".so",      ".dll",   ".dylib", ".pyd",
     ".exe",  ".sh",  ".bash", ".zsh", ".csh", ".ksh", ".fish",  ".command", ".bat",   ".cmd",   ".ps1",
     ".psm1", ".vbs", ".js",   ".mjs", ".cjs", ".jar", ".class", ".java",    ".go",    ".lua",   ".pl",
     ".php",  ".r",   ".rb",   ".jl",  ".whl", ".egg", ".cu",    ".cuh",     ".c",     ".cc",    ".cpp",
     ".cxx",  ".h",   ".hh",   ".hpp", ".hxx", ".cl",  ".metal", ".ptx",     ".cubin", ".mako",  ".desktop"});

/// Whole names, where no ending tells.
constexpr auto code_names = std::to_array<std::string_view>({"Makefile", "makefile", "GNUmakefile", ".envrc"});

/// Whose first bytes say what they are; no loader of a checkpoint opens them. The last is tare's own journal.
constexpr auto harmless =
    std::to_array<std::string_view>({"\x89PNG\r\n\x1a\n"sv, "\xff\xd8\xff"sv, "GIF8"sv, "TAREJNL\n"sv});

/// MLflow's has no ending.
bool is_yaml(std::string_view name) {
  const std::string ending = extension(name);
  return ending == ".yaml" || ending == ".yml" || file_name(name) == "MLmodel";
}

/// For people: what it quotes is no configuration.
bool is_prose(std::string_view name) {
  const std::string ending = extension(name);
  return ending == ".md" || ending == ".rst" || ending == ".txt" || ending == ".log";
}

Bytes first_bytes(const Source& source) {
  constexpr std::uint64_t signature = 16;
  return source.read({0, std::min(source.size(), signature)});
}

/// Of UTF-8 or Latin-1, without the control characters of either.
bool is_text(std::string_view text) {
  const auto is_control = [is_latin = !is_utf8(text)](char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_latin && byte >= 0x7f && byte < 0xa0) return true;
    return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f';
  };
  return std::none_of(text.begin(), text.end(), is_control);
}

/// TensorBoard's: records, each with a CRC of its length and one of its bytes.
bool is_event_file(std::string_view bytes) {
  constexpr std::size_t head = 12, tail = 4;
  while (!bytes.empty()) {
    if (bytes.size() < head + tail) return false;
    const ByteView view = as_bytes(bytes);
    const auto size = load_le<std::uint64_t>(view.data());
    if (masked_crc32c(view.first(8)) != load_le<std::uint32_t>(view.data() + 8)) return false;
    if (size > bytes.size() - head - tail) return false;
    if (masked_crc32c(view.subspan(head, size)) != load_le<std::uint32_t>(view.data() + head + size)) return false;
    bytes.remove_prefix(head + size + tail);
  }
  return true;
}

Doubt doubt_of_text(const Source& source, std::string_view name, std::string_view text) {
  if (text.starts_with("#!")) return {"is a script", {}, 0};
  const auto says_something = [](const Doubt& doubt) { return !doubt.why.empty() || !doubt.globals.empty(); };
  if (Doubt named = doubt_by_name(text, name); says_something(named)) return named;
  Doubt doubt;
  if (!is_prose(name))
    doubt = is_yaml(name) ? doubt_of_yaml(text, *source.budget()) : doubt_of_words(text, *source.budget());
  return says_something(doubt) ? doubt : other_nature(source, text_format);
}

}  // namespace

bool is_code(std::string_view name) {
  return std::ranges::find(code_endings, extension(name)) != code_endings.end() ||
         std::ranges::find(code_names, file_name(name)) != code_names.end();
}

bool is_text(const Source& source) {
  return source.size() <= most_text && is_text(as_text(source.read({0, source.size()})));
}

Doubt doubt_of_file(const std::shared_ptr<const Source>& source, std::string_view name, const std::string& otherwise) {
  if (source->size() == 0) return {};
  const Bytes head = first_bytes(*source);
  const auto begins = [&](std::string_view bytes) { return as_text(head).starts_with(bytes); };
  if (std::any_of(harmless.begin(), harmless.end(), begins)) return other_nature(*source, picture_format);
  if (source->size() > most_text) return doubt_of_broken(source, otherwise);
  const Bytes bytes = source->read({0, source->size()});
  if (is_text(as_text(bytes))) return doubt_of_text(*source, name, as_text(bytes));
  const bool is_known = is_event_file(as_text(bytes)) || is_sentence_pieces(*source);
  return is_known ? other_nature(*source, record_format) : doubt_of_broken(source, otherwise);
}

}  // namespace tare
