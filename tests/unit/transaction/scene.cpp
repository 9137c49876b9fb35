#include "tests/unit/transaction/scene.hpp"

#include <cerrno>
#include <random>
#include <stdexcept>

#include "lib/base/file_identity.hpp"

namespace tare::test {
namespace {

Scene empty_scene(const char* name) {
  Scene scene{name, {}, {}};
  scene.disk.add_folder("/run");
  scene.disk.add_folder(home);
  return scene;
}

std::string in_home(const std::string& name) {
  return std::string(home) + "/" + name;
}

void add(Scene& scene, const std::string& name, const Bytes& bytes, FileChange change, mode_t mode = 0644) {
  const std::string path = in_home(name);
  scene.disk.add_file(path, bytes, mode);
  scene.edits.push_back({path, std::move(change), scene.disk.status(path)});
}

FileChange patches(const Bytes& file, std::uint32_t seed) {
  return {{patch_of(file, 40, noise(8, seed)), patch_of(file, 508, noise(8, seed + 1)),
           patch_of(file, 900, noise(4, seed + 2))},
          {},
          {}};
}

FileChange append(const Bytes& file, std::uint32_t seed) {
  return {{patch_of(file, 100, noise(4, seed))},
          Append{file.size(), noise(700, seed + 1), noise(98, seed + 2), "body"},
          {}};
}

FileChange only_append(const Bytes& file, std::uint32_t seed) {
  return {{}, Append{file.size(), noise(900, seed), {}, "an item"}, {}};
}

FileChange splice(const Bytes& file, std::uint32_t seed) {
  return {{}, {}, Splice{300, {file.begin() + 300, file.begin() + 302}, noise(5, seed), "window"}};
}

/// Patches, and another end of the file.
FileChange new_end(const Bytes& file, std::uint32_t seed, std::size_t size) {
  constexpr std::ptrdiff_t from = 950;
  return {
      patches(file, seed).patches, {}, Splice{from, {file.begin() + from, file.end()}, noise(size, seed), "tensors"}};
}

Scene with_splice(const char* name) {
  Scene scene = empty_scene(name);
  const Bytes file = noise(1200, 7);
  add(scene, "legacy.pt", file, splice(file, 8));
  return scene;
}

}  // namespace

JournalKey own_key() {
  return JournalKey(noise(JournalKey::size, 4711));
}

Scope scope_of(FileLayer& files, const std::string& path, const std::string& upper) {
  return {files, {path}, upper, own_key()};
}

Bytes encoded(const Journal& journal, const JournalKey& key) {
  Bytes bytes;
  write_journal(journal, key, [&](ByteView piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  return bytes;
}

TransactionOptions sealed(TransactionOptions options) {
  options.key = own_key();
  return options;
}

Bytes noise(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

Patch patch_of(const Bytes& file, std::uint64_t offset, const Bytes& after) {
  const auto from = file.begin() + static_cast<std::ptrdiff_t>(offset);
  return {offset, Bytes(from, from + static_cast<std::ptrdiff_t>(after.size())), after, "scale"};
}

std::vector<FieldEdit> Scene::fields() const {
  std::vector<FieldEdit> fields;
  for (const FileEdit& edit : edits) fields.push_back({edit.path, "scaler", "scale", "65536.0", "1024.0"});
  return fields;
}

Scene rank_scene(const char* name, std::uint32_t count) {
  Scene ranks = empty_scene(name);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const std::string folder = (rank < 10 ? "mp_rank_0" : "mp_rank_") + std::to_string(rank);
    ranks.disk.add_folder(in_home(folder));
    const Bytes bytes = noise(950, 20 + rank);
    const FileChange change = rank % 8 == 3   ? append(bytes, 50)
                              : rank % 8 == 5 ? splice(bytes, 60)
                                              : patches(bytes, 70 + rank);
    add(ranks, folder + "/model_optim_rng.pt", bytes, change);
  }
  return ranks;
}

std::vector<Scene> all_scenes() {
  std::vector<Scene> scenes;
  const Bytes file = noise(1000, 1);
  add(scenes.emplace_back(empty_scene("patches")), "scaler.pt", file, patches(file, 2));
  add(scenes.emplace_back(empty_scene("append")), "scaler.pt", file, append(file, 3));
  scenes.push_back(with_splice("splice"));
  scenes.push_back(with_splice("splice without hard links"));
  scenes.back().disk.set_link_error(EPERM);
  add(scenes.emplace_back(empty_scene("read-only file")), "scaler.pt", file, patches(file, 4), 0400);

  add(scenes.emplace_back(empty_scene("shorter end")), "model.safetensors", file, new_end(file, 4, 20));
  add(scenes.emplace_back(empty_scene("longer end")), "model.safetensors", file, new_end(file, 5, 300));
  add(scenes.emplace_back(empty_scene("no end")), "model.safetensors", file, new_end(file, 6, 0));

  // Items that grew stand behind the end of their files; the metadata is renamed, and the manifest vouches for all.
  Scene& distributed = scenes.emplace_back(empty_scene("distributed"));
  const Bytes first = noise(1300, 90);
  const Bytes second = noise(1100, 91);
  const Bytes metadata = noise(700, 92);
  const Bytes manifest = noise(600, 93);
  add(distributed, "__0_0.distcp", first, append(first, 94));
  add(distributed, "__3_0.distcp", second, only_append(second, 95));
  const Bytes old_place(metadata.begin() + 300, metadata.begin() + 305);
  add(distributed, ".metadata", metadata, {{}, {}, Splice{300, old_place, noise(5, 96), "a place of the same size"}});
  add(distributed, "integrity.json", manifest,
      {{patch_of(manifest, 60, noise(64, 97)), patch_of(manifest, 200, noise(64, 98))}, {}, {}});

  scenes.push_back(rank_scene("eight ranks", 8));
  return scenes;
}

Scene scene_named(const std::string& name) {
  for (const Scene& scene : all_scenes()) {
    if (scene.name == name) return scene;
  }
  throw std::logic_error("no scene " + name);
}

Bytes changed(const Bytes& before, const FileChange& change) {
  Bytes after = before;
  if (change.splice) {
    const auto at = after.begin() + static_cast<std::ptrdiff_t>(change.splice->offset);
    const auto next = after.erase(at, at + static_cast<std::ptrdiff_t>(change.splice->before.size()));
    after.insert(next, change.splice->after.begin(), change.splice->after.end());
  }
  for (const Patch& patch : change.patches) {
    std::copy(patch.after.begin(), patch.after.end(), after.begin() + static_cast<std::ptrdiff_t>(patch.offset));
  }
  if (change.append) {
    after.insert(after.end(), change.append->body.begin(), change.append->body.end());
    after.insert(after.end(), change.append->commit.begin(), change.append->commit.end());
  }
  return after;
}

std::map<std::string, FileContent> states(const SimulatedDisk& disk, const std::vector<FileEdit>& edits) {
  std::map<std::string, FileContent> all;
  for (const FileEdit& edit : edits) {
    all[edit.path] = {disk.bytes(edit.path), disk.mode(edit.path), disk.mtime(edit.path)};
  }
  return all;
}

bool all_old(const SimulatedDisk& disk, const std::map<std::string, FileContent>& old) {
  for (const auto& [path, state] : old) {
    if (!disk.has(path) || disk.bytes(path) != state.bytes || disk.mode(path) != state.mode) return false;
    if (!is_same_time(disk.mtime(path), state.mtime)) return false;
  }
  return true;
}

bool all_new(const SimulatedDisk& disk, const std::map<std::string, FileContent>& old,
             const std::vector<FileEdit>& edits) {
  for (const FileEdit& edit : edits) {
    const FileContent& state = old.at(edit.path);
    if (!disk.has(edit.path) || disk.mode(edit.path) != state.mode) return false;
    if (disk.bytes(edit.path) != changed(state.bytes, edit.change)) return false;
  }
  return true;
}

}  // namespace tare::test
