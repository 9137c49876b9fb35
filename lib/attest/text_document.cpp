#include "lib/attest/text_document.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/attest/other_nature.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

/// In which readers of base64 differ.
struct Base64Reader {
  bool is_for_urls;      ///< '-' and '_' are digits; by others they are passed over
  bool stops_at_filled;  ///< a group that '=' fill up is the last; newer CPythons pass over any '='
};

int base64_digit(char c, bool is_for_urls) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || (is_for_urls && c == '-')) return 62;
  if (c == '/' || (is_for_urls && c == '_')) return 63;
  return -1;
}

/// What is no digit is passed over, as base64.b64decode does.
Bytes from_base64(std::string_view text, Base64Reader reader) {
  constexpr int group = 4;
  Bytes bytes;
  std::uint32_t bits = 0;
  int digits = 0, filled = 0;  // of a group
  for (const char c : text) {
    if (c == '=' && reader.stops_at_filled && digits >= 2 && digits + ++filled == group) break;
    const int digit = base64_digit(c, reader.is_for_urls);
    if (digit < 0) continue;
    filled = 0;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    // The first digit of a group begins a byte, each other one ends one.
    if (digits > 0) bytes.push_back(static_cast<std::byte>(bits >> (6 - 2 * digits) & 0xff));
    digits = (digits + 1) % group;
  }
  return bytes;
}

/// All that one reader or another makes of it, each once.
std::vector<Bytes> all_from_base64(std::string_view text) {
  std::vector<Bytes> all;
  for (const bool is_for_urls : {false, true}) {
    if (is_for_urls && text.find_first_of("-_") == text.npos) break;
    for (const bool stops_at_filled : {true, false}) {
      Bytes bytes = from_base64(text, {is_for_urls, stops_at_filled});
      if (std::ranges::find(all, bytes) == all.end()) all.push_back(std::move(bytes));
    }
  }
  return all;
}

/// Fewer characters name no module and no function.
constexpr std::size_t shortest_document = 12;
constexpr std::uint64_t steps_a_probe = 512;
/// What jsonpickle writes before a key that is JSON.
constexpr std::string_view json_key = "json://";

bool is_document(const Bytes& bytes) {
  if (zip::begins_with_member(bytes)) return true;
  if (bytes.size() < shortest_document / 2) return false;
  // Of protocols 0 and 1, which anything might begin like, only what could be a module's name is one.
  const std::string_view format = bytes.front() == std::byte{0x80} ? record_format : text_format;
  return !other_nature(MemorySource("a text", bytes), format).why.empty();
}

/// The text of a node that could be a document; empty for a shorter one.
std::string_view long_text(const Tree& tree, NodeId node) {
  std::string_view text = tree.text(node);
  if (text.size() < shortest_document) return {};
  if (text.starts_with(json_key)) text.remove_prefix(json_key.size());
  return text;
}

bool looks_like_json(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != text.npos && (text[begin] == '{' || text[begin] == '[');
}

Bytes copied(std::string_view text) {
  const ByteView bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

/// What a text would be to those who take it for a document; nothing for others.
std::vector<Bytes> documents_in(const Tree& tree, std::string_view text) {
  tree.take_steps(text.size() + steps_a_probe);
  std::vector<Bytes> documents = all_from_base64(text);
  std::erase_if(documents, [](const Bytes& bytes) { return !is_document(bytes); });
  if (looks_like_json(text)) documents.push_back(copied(text));
  return documents;
}

}  // namespace

void each_text_document(const Tree& tree, const std::function<void(NodeId, Bytes)>& take) {
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::string) continue;
    const std::string_view text = long_text(tree, node);
    if (text.empty()) continue;
    for (Bytes& bytes : documents_in(tree, text)) take(node, std::move(bytes));
  }
}

void each_json_text(const Tree& tree, const std::function<void(NodeId, Bytes)>& take) {
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::string) continue;
    const std::string_view text = long_text(tree, node);
    if (looks_like_json(text)) take(node, copied(text));
  }
}

}  // namespace tare
