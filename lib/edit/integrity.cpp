#include "lib/edit/integrity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/sha256.hpp"
#include "lib/base/source.hpp"
#include "lib/container/preview.hpp"
#include "lib/edit/planned_file.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

constexpr std::string_view manifest_name = "integrity.json";
constexpr std::size_t digest_size = 64;
constexpr std::uint64_t piece = std::uint64_t{1} << 20;
/// Reading this much takes a second or so.
constexpr std::uint64_t announced = std::uint64_t{256} << 20;

std::string digest_of(const Source& source) {
  Sha256 sum;
  for (std::uint64_t at = 0; at < source.size(); at += piece) {
    sum.add(source.read(Span{at, std::min(piece, source.size() - at)}));
  }
  return sum.finish();
}

struct Manifest {
  std::string path;
  std::shared_ptr<const Source> source;
  PlainTree contents;
};

std::optional<Manifest> manifest_in(const Files& files, const std::string& folder) {
  std::string path = fmt::format("{}{}", folder, manifest_name);
  auto source = planned_source(files, path);
  if (source == nullptr || source->size() > limits::max_small_text_bytes) return std::nullopt;
  PlainTree contents = read_json(source->read({0, source->size()}), path);
  const Tree& tree = contents.tree();
  const NodeId algorithm = tree.find(tree.root, "algorithm");
  if (algorithm != nowhere && (tree.kind(algorithm) != Kind::string || tree.text(algorithm) != "sha256")) {
    throw Error(Status::unsupported, fmt::format("{}: vouches for the files by something else than SHA-256", path),
                "remove it if nothing checks it, and edit again");
  }
  return Manifest{std::move(path), std::move(source), std::move(contents)};
}

/// The patch that renews one file's digest; nothing where the manifest does not list the file.
std::optional<Patch> renewed(const Manifest& manifest, const FileEdit& edit, const IntegrityOptions& options) {
  const std::string name(file_name(edit.path));
  const Tree& tree = manifest.contents.tree();
  const NodeId digest = tree.find(tree.find(tree.root, "files"), name);
  if (digest == nowhere) return std::nullopt;
  const Span place = manifest.contents.place(digest);
  if (tree.kind(digest) != Kind::string || place.size != digest_size + std::string_view("\"\"").size()) {
    throw Error(Status::corrupt, fmt::format("{}: what it lists for {} is no SHA-256", manifest.path, name),
                "remove it if nothing checks it, and edit again");
  }
  const std::string listed(tree.text(digest));
  const auto file = options.files->open(edit.path);
  if (options.announce && file->size() >= announced) {
    options.announce(fmt::format("{} holds the SHA-256 of {}: all of its {} bytes have to be read twice", manifest.path,
                                 name, file->size()));
  }
  if (digest_of(*file) != listed && !options.force) {
    throw Error(Status::corrupt, fmt::format("{}: is not the file that {} lists", edit.path, manifest_name),
                "it was changed or damaged before; --force edits it and renews the digest all the same");
  }
  const std::string now = digest_of(PreviewSource(file, edit.change));
  const auto as_patch = [](const std::string& text) { return Bytes(as_bytes(text).begin(), as_bytes(text).end()); };
  return Patch{place.offset + 1, as_patch(listed), as_patch(now), fmt::format("SHA-256 of {}", name)};
}

}  // namespace

std::vector<FileEdit> renewed_manifests(const std::vector<FileEdit>& edits, const IntegrityOptions& options) {
  std::map<std::string, std::vector<const FileEdit*>> by_folder;
  for (const FileEdit& edit : edits) by_folder[std::string(folder_prefix(edit.path))].push_back(&edit);
  std::vector<FileEdit> manifests;
  for (const auto& [folder, inside] : by_folder) {
    const auto manifest = manifest_in(*options.files, folder);
    if (!manifest) continue;
    FileEdit own = planned_edit(manifest->path, *manifest->source);
    for (const FileEdit* edit : inside) {
      if (auto patch = renewed(*manifest, *edit, options)) own.change.patches.push_back(std::move(*patch));
    }
    if (!own.change.patches.empty()) manifests.push_back(std::move(own));
  }
  return manifests;
}

}  // namespace tare
