#include "lib/remote/remote_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/object_layer.hpp"
#include "lib/remote/http_source.hpp"
#include "lib/remote/url.hpp"
#include "lib/remote/web_index.hpp"

namespace tare {
namespace {

/// Files that say that a folder is a checkpoint, or a run of checkpoints, and where to go on.
constexpr auto index_names = std::to_array<std::string_view>({
    ".metadata",                         // torch.distributed.checkpoint
    "latest",                            // DeepSpeed
    "latest_checkpointed_iteration.txt"  // Megatron
});

/// Files and folders that may hold a scaler beside or instead of an index.
constexpr auto other_files = std::to_array<std::string_view>({
    "common.pt",           // Megatron's torch_dist
    "scaler.pt",           // accelerate, the Hugging Face Trainer
    "model_optim_rng.pt",  // Megatron
});
constexpr auto rank_folders = std::to_array<std::string_view>({"mp_rank_00", "mp_rank_00_000", "mp_rank_00_000_000"});

/// Of first blocks that are kept for whoever opens an object again: a thousand ranks' small files.
constexpr std::uint64_t most_known_bytes = std::uint64_t{64} << 20;

/// What nobody keeps. A server that has it answers to any name, with a page of its own or for ever.
constexpr std::string_view name_of_nothing = "tare-asks-for-what-is-not-there";

/// Files that are numbered from 0 on, up to the first that is not there. Those behind a hole are asked for by name once
/// the others have told how many there are.
struct Series {
  std::string_view before, after;
  int digits;
};
constexpr auto series = std::to_array<Series>({
    {"mp_rank_", "_model_states.pt", 2},
    {"zero_pp_rank_", "_mp_rank_00_optim_states.pt", 1},
    {"bf16_zero_pp_rank_", "_mp_rank_00_optim_states.pt", 1},
    {"zero_pp_rank_", "_mp_rank_00optim_states.pt", 1},   // before March 2021
    {"zero_pp_rank_", "_mp_rank_00_model_states.pt", 1},  // of stage 3
});

/// Files that are read whole, as an index of others: at once, where they are not too large.
constexpr auto whole_names = std::to_array<std::string_view>({".metadata"});
constexpr std::uint64_t most_bytes_read_whole = std::uint64_t{32} << 20;

/// What is asked for first, to see what a file is: of one of which a list told that it is not small, and of one of
/// which nothing is known yet.
constexpr std::uint64_t first_bytes_of_large = std::uint64_t{4} << 10;
constexpr std::uint64_t first_bytes_of_unknown = std::uint64_t{16} << 10;

/// Files of which an index says where to read: their begin is nothing to go by.
constexpr auto indexed_endings = std::to_array<std::string_view>({".distcp"});

std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// How many bytes of an object are asked for first; `size`: what a list told of it, 0 where none did.
std::uint64_t first_bytes_of(std::string_view path, std::uint64_t size) {
  if (size == 0) return first_bytes_of_unknown;
  const bool is_whole = std::ranges::find(whole_names, last_name(path)) != whole_names.end();
  return size <= (is_whole ? most_bytes_read_whole : small_object_bytes) ? size : first_bytes_of_large;
}

bool is_indexed(std::string_view path) {
  return std::ranges::any_of(indexed_endings, [&](std::string_view ending) { return path.ends_with(ending); });
}

/// Folders of checkpoints have no ending, as a rule, and files have one.
bool looks_like_folder(std::string_view path) {
  return last_name(path).find('.') == path.npos;
}

bool can_only_grow(const std::string& path, std::uint64_t size) {
  const ObjectStore* store = store_of(path);
  return store != nullptr && store->copies_whole_objects && size >= least_composed_bytes;
}

bool is_root(const std::string& path) {
  const ObjectStore* store = store_of(path);
  return store != nullptr && store->is_root(path);
}

}  // namespace

RemoteFiles::RemoteFiles(StoreSettings settings, const RemoteLimits& limits, WrittenUrls urls)
    : settings_(std::move(settings)),
      urls_(std::move(urls)),
      client_(std::make_shared<const HttpClient>(limits)),
      folders_([this](const std::string& folder, ListDepth depth,
                      const std::string& from) { return list_now(folder, depth, from); },
               [this](const std::string& folder, std::size_t objects) {
                 if (store_of(folder) != nullptr) client_->allow_for(objects);
               }) {}

std::optional<ListPage> RemoteFiles::list_now(const std::string& folder, ListDepth depth,
                                              const std::string& from) const {
  const ObjectStore* store = store_of(folder);
  if (store == nullptr) return list_of_web(folder);
  return store->list(*client_, settings(*store), folder, depth, from);
}

std::optional<ListPage> RemoteFiles::list_of_web(const std::string& folder) const {
  auto page = list_web(*client_, web_object(folder));
  if (!page) return std::nullopt;
  for (const std::string_view name : index_names) {
    const bool is_hidden = name.starts_with('.');
    const bool is_listed = std::ranges::find(page->objects, name, &ListedObject::key) != page->objects.end();
    if (is_hidden && !is_listed && has(fmt::format("{}/{}", folder, name)))
      page->objects.push_back({std::string(name)});
  }
  return page;
}

void RemoteFiles::forget() const {
  const std::lock_guard lock(mutex_);
  known_.clear();
  known_bytes_ = 0;
}

const StoreSettings& RemoteFiles::settings(const ObjectStore& store) const {
  if (store.prepare == nullptr) return settings_;
  const std::lock_guard lock(preparing_);
  if (!prepared_.contains(store.scheme)) store.prepare(*client_, settings_);
  prepared_.insert(store.scheme);
  return settings_;
}

HttpObject RemoteFiles::object(const std::string& path, const std::string& query) const {
  if (const ObjectStore* store = store_of(path); store != nullptr) return store->object(settings(*store), path, query);
  return web_object(path);
}

HttpObject RemoteFiles::web_object(const std::string& path) const {
  HttpObject object;
  if (auto given = urls_.given(path)) {
    object.name = shown_url(path);
    object.url = *std::move(given);
    return object;
  }
  const std::size_t written = folders_.bytes_before_listed(path);
  const std::string as_written = path.substr(0, written), listed = path.substr(written);
  object.name = shown_url(as_written) + listed;
  object.url = urls_.written(as_written) + escaped_key(listed);
  return object;
}

std::shared_ptr<const Source> RemoteFiles::open(const std::string& path) const {
  if (folders_.type(path).value_or(FileType::file) != FileType::file || is_root(path)) {
    throw Error(Status::not_found, fmt::format("{}: no such object", object(path).name),
                "see whether the address is right, and whether these credentials may list what is there");
  }
  const std::uint64_t size = folders_.size(path).value_or(0);
  if (size > 0 && is_indexed(path)) {
    return std::make_shared<const HttpSource>(client_,
                                              ObjectStart{object(path), {}, size, {}, can_only_grow(path, size)});
  }
  return std::make_shared<const HttpSource>(client_, *start(path));
}

std::shared_ptr<const ObjectStart> RemoteFiles::start(const std::string& path) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(path);
    if (known != known_.end() && known->second != nullptr) return known->second;
  }
  const std::uint64_t wanted = first_bytes_of(path, folders_.size(path).value_or(0));
  ObjectStart asked = start_of(*client_, object(path), wanted);
  asked.only_grows = can_only_grow(path, asked.size);
  auto found = std::make_shared<const ObjectStart>(std::move(asked));
  const std::lock_guard lock(mutex_);
  const bool has_room = known_bytes_ + found->begin.size() <= most_known_bytes;
  if (has_room && known_.insert_or_assign(path, found).second) known_bytes_ += found->begin.size();
  return found;
}

bool RemoteFiles::has(const std::string& path) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(path);
    if (known != known_.end()) return known->second != nullptr;
  }
  try {
    return start(path) != nullptr;
  } catch (const Error& error) {
    // Stores answer 401 or 403 for what is not there to who may not list the bucket.
    const bool is_hidden = last_name(path).starts_with('.');  // what web servers show to nobody
    const bool may_be_absent =
        error.status == Status::not_found || ((store_of(path) != nullptr || is_hidden) && error.detail == EACCES);
    if (!may_be_absent) throw;
  }
  const std::lock_guard lock(mutex_);
  known_.try_emplace(path, nullptr);
  return false;
}

bool RemoteFiles::is_folder(const std::string& path) const {
  const auto has_name = [&](std::string_view name) { return has(fmt::format("{}/{}", path, name)); };
  return std::any_of(index_names.begin(), index_names.end(), has_name) ||
         std::any_of(other_files.begin(), other_files.end(), has_name) ||
         std::any_of(series.begin(), series.end(),
                     [&](const Series& row) {
                       return has_name(fmt::format("{}{:0{}}{}", row.before, 0, row.digits, row.after));
                     }) ||
         std::any_of(rank_folders.begin(), rank_folders.end(),
                     [&](std::string_view folder) { return has_name(fmt::format("{}/model_optim_rng.pt", folder)); });
}

FileType RemoteFiles::type(const std::string& path) const {
  std::string folder = path;
  while (folder.ends_with('/')) folder.pop_back();
  if (const auto known = folders_.type(folder)) return *known;
  const bool may_be_file = !path.ends_with('/') && !is_root(path);
  const bool is_folder_first = store_of(path) != nullptr && looks_like_folder(folder) && !has_found(path);
  if (may_be_file && !is_folder_first && has(path)) return FileType::file;
  const bool has_query = store_of(path) == nullptr && web_object(path).url.find('?') != path.npos;
  if (has_query) return FileType::absent;  // a signature is good for one object
  const bool is_listed = folders_.list(folder).has_value();
  if (const auto known = folders_.type(folder)) return *known;
  if (may_be_file && is_folder_first && has(path)) return FileType::file;
  return !is_listed && is_folder(folder) ? FileType::folder : FileType::absent;
}

bool RemoteFiles::has_found(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(path);
  return known != known_.end() && known->second != nullptr;
}

void RemoteFiles::require_choosy(const std::string& folder) const {
  if (!has(fmt::format("{}/{}", folder, name_of_nothing))) return;
  throw Error(Status::unsupported,
              fmt::format("{}: the server has every name that it is asked for, so that nobody can tell what is there",
                          object(folder).name),
              "give the URL of one file, or download the checkpoint");
}

void RemoteFiles::expect_all_below(const std::string& folder) const {
  std::string plain = folder;
  while (plain.ends_with('/')) plain.pop_back();
  const bool may_be_folder = looks_like_folder(plain) || folders_.type(plain) == FileType::folder;
  if (store_of(plain) != nullptr && may_be_folder) folders_.list_below(plain);
}

bool RemoteFiles::was_all_there_without(const std::string& folder, const std::string& absent,
                                        std::span<const FileVersion> files) const {
  if (files.empty() || folders_.type(folder + "/" + absent) != FileType::absent) return false;
  return std::ranges::all_of(files, [&](const FileVersion& file) {
    const std::string tag = folders_.tag(folder, file.path);
    return !tag.empty() && file.version == "\"" + tag + "\"";
  });
}

std::vector<FileEntry> RemoteFiles::list(const std::string& folder) const {
  if (auto listed = folders_.list(folder)) return *std::move(listed);
  auto entries = list_by_names(folder);
  const bool is_named_by_server = store_of(folder) == nullptr && folders_.bytes_before_listed(folder) < folder.size();
  if (!entries.empty() || !is_named_by_server) return entries;
  throw Error(Status::io,
              fmt::format("{}: the server names this folder, and does not tell what is in it", object(folder).name),
              "see whether it may be listed there, or download it", ENODATA);
}

std::vector<FileEntry> RemoteFiles::list_by_names(const std::string& folder) const {
  require_choosy(folder);
  std::vector<FileEntry> entries;
  const auto add = [&](std::string name) {
    if (!has(folder + "/" + name)) return false;
    entries.push_back({std::move(name), FileType::file});
    return true;
  };
  for (const std::string_view name : index_names) add(std::string(name));
  for (const std::string_view name : other_files) add(std::string(name));
  for (const auto& [before, after, digits] : series) {
    for (std::size_t i = 0; i < limits::max_files && add(fmt::format("{}{:0{}}{}", before, i, digits, after)); ++i) {
    }
  }
  for (const std::string_view name : rank_folders) {
    if (is_folder(fmt::format("{}/{}", folder, name))) entries.push_back({std::string(name), FileType::folder});
  }
  return entries;
}

}  // namespace tare
