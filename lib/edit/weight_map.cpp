#include "lib/edit/weight_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/source.hpp"
#include "lib/container/file_change.hpp"
#include "lib/container/preview.hpp"
#include "lib/container/safetensors/header.hpp"
#include "lib/edit/planned_file.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

/// What an edit does to the tensors of a shard.
struct Loss {
  std::set<std::string> names;
  std::int64_t bytes = 0;
};

Loss loss_of(const Files& files, const FileEdit& edit) {
  const auto file = files.open(edit.path);
  const SafetensorsHeader before = read_safetensors_header(*file);
  const SafetensorsHeader after = read_safetensors_header(PreviewSource(file, edit.change));
  Loss loss{{}, static_cast<std::int64_t>(before.data.size) - static_cast<std::int64_t>(after.data.size)};
  for (const SafetensorsEntry& entry : before.entries) loss.names.emplace(before.name(entry));
  for (const SafetensorsEntry& entry : after.entries) loss.names.erase(std::string(after.name(entry)));
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

/// What becomes of the text of such a file.
class WeightMap {
 public:
  WeightMap(const Bytes& bytes, const std::string& path)
      : path_(path), text_(as_text(bytes)), contents_(read_json(bytes, path)), tree_(contents_.tree()) {
    if (!contents_.findings.empty()) fail("names something twice");
  }

  std::string without(const Loss& loss) {
    take_out(loss.names);
    lessen_total(tree_.find(tree_.find(tree_.root, "metadata"), "total_size"), loss.bytes);
    std::ranges::sort(changes_, std::ranges::greater(), [](const auto& change) { return change.first.offset; });
    std::string text = text_;
    for (const auto& [place, now] : changes_) text.replace(place.offset, place.size, now);
    return text;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw Error(Status::corrupt, fmt::format("{}: {}", path_, problem), "mend it or move it away, and edit again");
  }

  /// Members in runs: each goes up to the key behind it, the last one with what stands before it.
  void take_out(const std::set<std::string>& names) {
    const auto pairs = tree_.items(tree_.find(tree_.root, "weight_map"));
    const auto begin = [&](std::size_t i) { return contents_.place(pairs[i]).offset; };
    const auto end = [&](std::size_t i) { return contents_.place(pairs[i + 1]).end(); };
    const auto is_lost = [&](std::size_t i) { return names.contains(tree_.key_text(pairs[i])); };
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (tree_.kind(pairs[i + 1]) != Kind::string) fail("a tensor's shard is no text");
      if (!is_lost(i)) continue;
      const std::size_t first = i;
      while (i < pairs.size() && is_lost(i)) i += 2;
      const std::uint64_t from = i < pairs.size() || first == 0 ? begin(first) : end(first - 2);
      const std::uint64_t to = i < pairs.size() ? begin(i) : end(i - 2);
      changes_.push_back({{from, to - from}, ""});
    }
  }

  void lessen_total(NodeId total, std::int64_t bytes) {
    if (total == nowhere || tree_.kind(total) != Kind::integer || bytes == 0) return;
    changes_.push_back({contents_.place(total), std::to_string(tree_[total].as.integer - bytes)});
  }

  const std::string& path_;
  std::string text_;
  PlainTree contents_;
  const Tree& tree_;
  std::vector<std::pair<Span, std::string>> changes_;
};

std::optional<FileEdit> renewed(const Files& files, const std::string& path, const Loss& loss) {
  const auto source = planned_source(files, path);
  if (source == nullptr || source->size() > limits::max_small_text_bytes) return std::nullopt;
  const Bytes before = source->read({0, source->size()});
  const std::string text = WeightMap(before, path).without(loss);
  if (text == as_text(before)) return std::nullopt;
  FileEdit edit = planned_edit(path, *source);
  edit.change.splice = changed_run(0, before, as_bytes(text), "which tensors there are");
  return edit;
}

}  // namespace

std::vector<FileEdit> renewed_weight_maps(const std::vector<FileEdit>& edits, const Files& files) {
  std::map<std::string, Loss> losses;
  for (const FileEdit& edit : edits) {
    const auto index = index_of(edit.path);
    if (!index || !edit.change.splice) continue;
    Loss loss = loss_of(files, edit);
    losses[*index].names.merge(loss.names);
    losses[*index].bytes += loss.bytes;
  }
  std::vector<FileEdit> maps;
  for (const auto& [path, loss] : losses) {
    if (auto map = renewed(files, path, loss)) maps.push_back(std::move(*map));
  }
  return maps;
}

}  // namespace tare
