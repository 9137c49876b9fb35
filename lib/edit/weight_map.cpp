#include "lib/edit/weight_map.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "lib/base/limits.hpp"
#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/preview.hpp"
#include "lib/container/safetensors/header.hpp"

namespace tare {
namespace {

constexpr std::string_view blanks = " \t\r\n";

/// What an edit does to the tensors of a shard.
struct Loss {
  std::set<std::string> names;
  std::int64_t bytes = 0;
};

Loss loss_of(const FileEdit& edit) {
  const auto file = std::make_shared<const FileSource>(edit.path);
  const SafetensorsHeader before = read_safetensors_header(*file);
  const SafetensorsHeader after = read_safetensors_header(PreviewSource(file, edit.change));
  Loss loss{{}, static_cast<std::int64_t>(before.data.size) - static_cast<std::int64_t>(after.data.size)};
  for (const SafetensorsEntry& entry : before.entries) loss.names.insert(entry.name);
  for (const SafetensorsEntry& entry : after.entries) loss.names.erase(entry.name);
  return loss;
}

/// "model.safetensors.index.json" for "model-00001-of-00002.safetensors"; nothing for a file that is no shard.
std::optional<std::string> index_of(const std::string& path) {
  constexpr std::string_view ending = ".safetensors", numbers = "-00001-of-00002";
  if (!path.ends_with(ending) || path.size() < ending.size() + numbers.size()) return std::nullopt;
  const std::size_t stem = path.size() - ending.size() - numbers.size();
  if (path[stem] != '-' || path.substr(stem + 6, 4) != "-of-") return std::nullopt;
  return fmt::format("{}.safetensors.index.json", path.substr(0, stem));
}

/// Where the value begins that stands under `key`; npos where there is no such key.
std::size_t value_of(const std::string& text, const std::string& key, std::size_t& at) {
  const std::string quoted = fmt::format("\"{}\"", key);
  for (at = text.find(quoted); at != text.npos; at = text.find(quoted, at + 1)) {
    const std::size_t colon = text.find_first_not_of(blanks, at + quoted.size());
    if (colon != text.npos && text[colon] == ':') return text.find_first_not_of(blanks, colon + 1);
  }
  return text.npos;
}

/// Takes the member "key": "shard" out, with the comma on one of its sides.
void take_out(std::string& text, const std::string& key) {
  std::size_t begin = 0;
  const std::size_t value = value_of(text, key, begin);
  if (value == text.npos || text[value] != '"') return;
  const std::size_t quote = text.find('"', value + 1);
  if (quote == text.npos) return;
  const std::size_t next = text.find_first_not_of(blanks, quote + 1);
  if (next != text.npos && text[next] == ',') {
    text.erase(begin, text.find_first_not_of(blanks, next + 1) - begin);
    return;
  }
  const std::size_t before = text.find_last_not_of(blanks, begin - 1);
  if (text[before] == ',') begin = before;
  text.erase(begin, quote + 1 - begin);
}

void lessen_total(std::string& text, std::int64_t bytes) {
  std::size_t key = 0;
  const std::size_t at = value_of(text, "total_size", key);
  if (at == text.npos) return;
  std::int64_t total = 0;
  const char* const begin = text.data() + at;
  const auto [end, problem] = std::from_chars(begin, text.data() + text.size(), total);
  if (problem == std::errc()) text.replace(at, static_cast<std::size_t>(end - begin), std::to_string(total - bytes));
}

std::optional<FileEdit> renewed(const std::string& path, const Loss& loss) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const FileSource source(path);
  if (source.size() > limits::max_small_text_bytes) return std::nullopt;
  const Bytes before = source.read({0, source.size()});
  std::string text(as_text(before));
  for (const std::string& name : loss.names) take_out(text, name);
  lessen_total(text, loss.bytes);
  if (text == as_text(before)) return std::nullopt;
  FileEdit edit{path, {}, source.status()};
  edit.change.splice = changed_run(0, before, as_bytes(text), "which tensors there are");
  return edit;
}

}  // namespace

std::vector<FileEdit> renewed_weight_maps(const std::vector<FileEdit>& edits) {
  std::map<std::string, Loss> losses;
  for (const FileEdit& edit : edits) {
    const auto index = index_of(edit.path);
    if (!index || !edit.change.splice) continue;
    Loss loss = loss_of(edit);
    losses[*index].names.merge(loss.names);
    losses[*index].bytes += loss.bytes;
  }
  std::vector<FileEdit> maps;
  for (const auto& [path, loss] : losses) {
    if (auto map = renewed(path, loss)) maps.push_back(std::move(*map));
  }
  return maps;
}

}  // namespace tare
