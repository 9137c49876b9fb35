#include "lib/watch/followed_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/text.hpp"
#include "lib/container/unpacking_stream.hpp"
#include "lib/trace/utf16_stream.hpp"

namespace tare {

namespace {

/// More are opened anew at each look.
constexpr std::size_t most_open = 256;
constexpr std::size_t most_followed = 1 << 14;
constexpr std::uint64_t front_bytes = 512;
/// A file of which so much tells nothing is none of a run's logs.
constexpr std::uint64_t ripe_bytes = 4096;
/// How long somebody may write on to a file that was renamed, or taken away.
constexpr auto moved_for = std::chrono::seconds(60);

std::uint64_t hash_of(ByteView bytes) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211U;
  return hash;
}

/// The path with its folder's links followed: the file itself may not be there yet.
std::string plain_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> folder(::realpath(folder_of(path).c_str(), nullptr), &std::free);
  if (folder == nullptr) return path;
  return std::string(folder.get()).append("/").append(file_name(path));
}

/// The first line of a table; empty where it is not whole.
std::string header_of(const Source& table) {
  Bytes head(static_cast<std::size_t>(std::min<std::uint64_t>(table.size(), Input::head_bytes)));
  table.read(0, head);
  const std::string_view text = as_text(head);
  return std::string(text.substr(0, text.find('\n') == text.npos ? 0 : text.find('\n') + 1));
}

std::set<std::string_view> columns_in(std::string_view header) {
  std::set<std::string_view> columns;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find_first_of(",;\t\r\n"), header.size());
    if (end > 0) columns.insert(header.substr(0, end));
    header.remove_prefix(std::min(end + 1, header.size()));
  }
  return columns;
}

bool has_more_columns(std::string_view header, std::string_view before) {
  const auto now = columns_in(header), then = columns_in(before);
  return !then.empty() && now.size() > then.size() && std::ranges::includes(now, then);
}

}  // namespace

FollowedFiles::FollowedFiles(std::vector<std::string> paths, const TraceOptions& options, std::vector<std::string> own,
                             std::function<bool()> is_stopped)
    : paths_(std::move(paths)), options_(options), is_stopped_(std::move(is_stopped)) {
  for (const std::string& path : own) own_.insert(plain_path(path));
}

std::vector<FollowedChange> FollowedFiles::look(bool walks) {
  has_read_ = false;
  for (const auto& file : files_) follow(*file);
  if (walks) walk();
  const auto is_over = [](const auto& file) { return file->has_moved && Clock::now() - file->moved > moved_for; };
  for (const auto& file : files_) {
    if (is_over(file)) tell(FollowedChange::What::gone, file->file.path);
  }
  std::erase_if(files_, is_over);
  return std::exchange(changes_, {});
}

std::vector<Trace> FollowedFiles::traces() const {
  std::vector<Trace> traces;
  for (const auto& [group, reader] : readers_) traces.push_back(reader.so_far());
  return traces;
}

void FollowedFiles::tell(FollowedChange::What what, const std::string& path, std::string more) {
  changes_.push_back({what, path, std::move(more)});
}

// ---- files that are new

void FollowedFiles::walk() {
  try {
    take(paths_of_run(paths_, options_));
  } catch (const Error&) {  // a folder that is taken away, or a log between two rotations
    if (!has_begun_) throw;
    for (const std::string& path : paths_) {
      try {
        take(paths_of_run(std::span(&path, 1), options_));
      } catch (const Error&) {
        continue;
      }
    }
  }
  has_begun_ = true;
}

void FollowedFiles::take(const std::vector<RunPath>& paths) {
  std::vector<std::unique_ptr<Followed>> fresh;
  unripe_.clear();
  for (const auto& [path, is_given] : paths) {
    struct stat there {};
    if (own_.contains(plain_path(path)) || ::stat(path.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) continue;
    const Inode inode{there.st_dev, there.st_ino};
    const auto known = std::ranges::find(files_, inode, [](const auto& file) { return file->inode; });
    if (known != files_.end()) {
      Followed& file = **known;
      if (file.file.path != path && file.has_moved) {
        tell(FollowedChange::What::rotated, file.file.path, path);
        file.file.path = path;
        file.has_moved = false;
      }
      continue;
    }
    if (is_known_other(there)) continue;
    try {
      if (auto file = looked_at(path, there)) fresh.push_back(std::move(file));
    } catch (const Error& error) {
      if (is_given && !has_begun_) throw;
      const bool is_news = error.status == Status::refused && unread_.insert(path).second;
      if (is_news) tell(FollowedChange::What::unread, path, std::string(error.what()) + ": " + error.hint);
    }
  }
  std::vector<RunFile> order;
  for (const auto& file : fresh) order.push_back(file->file);
  put_in_order(order);
  for (const RunFile& next : order) {
    const auto file = std::ranges::find(fresh, next.path, [](const auto& one) { return one ? one->file.path : ""; });
    if (file != fresh.end() && files_.size() < most_followed) begin(std::move(*file));
  }
}

/// An inode is another file's once the first one was taken away.
bool FollowedFiles::is_known_other(const struct stat& there) const {
  const auto other = others_.find({there.st_dev, there.st_ino});
  if (other == others_.end()) return false;
  const timespec &then = other->second.changed, &now = there.st_mtim;
  return other->second.size == there.st_size && then.tv_sec == now.tv_sec && then.tv_nsec == now.tv_nsec;
}

/// Null where it tells nothing, or not yet.
std::unique_ptr<FollowedFiles::Followed> FollowedFiles::looked_at(const std::string& path, const struct stat& there) {
  const Inode inode{there.st_dev, there.st_ino};
  const Input input(path, options_);
  const std::string_view head = as_text(input.head());
  const auto size = static_cast<std::uint64_t>(there.st_size);
  if (size < ripe_bytes && head.find_first_of("\n\r") == head.npos) {
    unripe_.insert(path);
    return nullptr;
  }
  auto file = std::make_unique<Followed>(Followed{run_file(input, options_), {}, inode});
  if (!grows(file->file.kind)) {
    others_[inode] = {there.st_size, there.st_mtim};
    return nullptr;
  }
  file->group = group_of(file->file);
  const ByteView front = input.head().first(std::min<std::size_t>(input.head().size(), front_bytes));
  file->front = {front.size(), hash_of(front)};
  file->source = std::make_shared<GrowingFile>(path);
  Bytes begin(static_cast<std::size_t>(std::min<std::uint64_t>(file->source->size(), front_bytes)));
  file->source->read(0, begin);
  file->is_packed = starts_like_packed_stream(begin);
  if (file->is_packed) others_[inode] = {there.st_size, there.st_mtim};
  if (starts_like_utf16(begin)) {
    others_[inode] = {there.st_size, there.st_mtim};
    throw Error(Status::refused, escaped(path) + ": is UTF-16, which is not followed while it grows",
                "let it be written as UTF-8, or read what there is with `tare trace`");
  }
  return file;
}

/// Rotation by copying: the file of which this one has the front and, but for what rotation adds, the name.
const FollowedFiles::Followed* FollowedFiles::copied_from(const Followed& file) const {
  const auto is_same = [](const Fingerprint& a, const Fingerprint& b) {
    return a.size > 0 && a.size == b.size && a.hash == b.hash;
  };
  for (const auto& known : files_) {
    const bool is_name = file_name(file.file.path).starts_with(file_name(known->file.path));
    if (!is_name || file.file.path == known->file.path) continue;
    if (is_same(file.front, known->front) || is_same(file.front, known->front_before)) return known.get();
  }
  return nullptr;
}

/// Under whatever name.
bool FollowedFiles::is_packed_copy(const Followed& file) {
  return !packed_.insert({file.inode, file.front.hash}).second;
}

/// From now on it tells what no file of its group has told that has the same contents so far.
void FollowedFiles::join_copies(Followed& file) {
  for (const auto& known : files_) {
    const bool is_other = known.get() != &file && known->group == file.group && known->source != nullptr;
    if (!is_other || known->file.metric != file.file.metric || known->read.end == 0) continue;
    const std::uint64_t both = std::min(file.source->size(), known->read.end);
    if (both == 0 || same_bytes(*file.source, *known->source, 0, both) < both) continue;
    if (!known->told) known->told = std::make_shared<ToldCopies>(ToldCopies{known->source, known->read});
    file.told = known->told;
    return;
  }
}

/// What it told before it was begun anew stays told.
void FollowedFiles::leave_copies(Followed& file) {
  if (file.told && file.told->furthest == file.source) file.told->furthest.reset();
  file.told.reset();
}

void FollowedFiles::begin(std::unique_ptr<Followed> file) {
  if (file->is_packed && is_packed_copy(*file)) return;
  const Followed* const original = copied_from(*file);
  if (original != nullptr) {
    const bool is_of_now = original->front.hash == file->front.hash;
    file->read = is_of_now ? original->read : original->read_before;
    if (!file->is_packed && file->source->size() < file->read.end) {  // it is still being copied
      unripe_.insert(file->file.path);
      return;
    }
  } else {
    if (!file->is_packed) join_copies(*file);
    if (!file->told) tell(FollowedChange::What::found, file->file.path, std::string(name_of(file->file.kind)));
  }
  if (file->is_packed) {
    if (original == nullptr) read_packed(*file);
    return;
  }
  read_on(*file);
  if (files_.size() >= most_open) file->source.reset();
  files_.push_back(std::move(file));
}

// ---- files that are known

void FollowedFiles::follow(Followed& file) {
  struct stat there {};
  const bool is_there = ::stat(file.file.path.c_str(), &there) == 0 && Inode{there.st_dev, there.st_ino} == file.inode;
  const bool is_kept = file.source != nullptr;
  try {
    if (!is_kept && is_there) file.source = std::make_shared<GrowingFile>(file.file.path);
    if (file.source) read_on(file);
  } catch (const Error&) {  // it changed meanwhile, or cannot be read now: at the next look
  }
  if (!is_kept) file.source.reset();
  if (is_there) {
    file.has_moved = false;
  } else if (!file.has_moved) {
    file.has_moved = true;
    file.moved = Clock::now();
  }
}

bool FollowedFiles::is_begun_anew(Followed& file) {
  Bytes front(static_cast<std::size_t>(std::min(file.source->size(), front_bytes)));
  file.source->read(0, front);
  const bool is_same =
      front.size() >= file.front.size && hash_of(ByteView(front).first(file.front.size)) == file.front.hash;
  if (!is_same) file.front_before = file.front;
  file.front = {front.size(), hash_of(front)};
  return !is_same;
}

void FollowedFiles::read_on(Followed& file) {
  file.source->refresh();
  const std::uint64_t size = file.source->size();
  if (size == file.size && size == file.read.end) return;
  const bool is_table = file.file.kind == RunFileKind::csv;
  std::string header = is_table ? header_of(*file.source) : std::string();
  if (is_table && header.empty()) return;  // it is being written anew
  const bool is_shorter = size < file.read.end;
  const bool has_other_front = is_begun_anew(file);
  const bool is_retold = is_table && (has_other_front ? has_more_columns(header, file.header) : is_shorter);
  file.header = std::move(header);
  file.size = size;
  if (is_retold) return read_group_anew(file);
  if (has_other_front || is_shorter) {
    tell(FollowedChange::What::truncated, file.file.path);
    file.read_before = std::exchange(file.read, {});
    leave_copies(file);
    join_copies(file);
  }
  read_rest(file);
}

/// A table whose rows were all written again, as Lightning does for a column more: what it told is told by it anew.
void FollowedFiles::read_group_anew(const Followed& table) {
  readers_.erase(table.group);
  for (const auto& file : files_) {
    if (file->group != table.group) continue;
    file->read = {};
    leave_copies(*file);
    if (file->source) read_rest(*file);
  }
}

void FollowedFiles::read_rest(Followed& file) {
  if (file.told && !pass_over_told(*file.told, file.file.kind, file.source, file.read)) {
    file.told.reset();
    tell(FollowedChange::What::found, file.file.path, std::string(name_of(file.file.kind)));
  }
  for (;;) {
    const WholePart part = whole_part(file.file.kind, *file.source, file.read.end);
    if (part.end == file.read.end || is_stopped_()) return;
    if (file.told && part.end <= file.told->read.end) return;
    read_piece(file, part);
    if (file.told) *file.told = {file.source, file.read};
  }
}

void FollowedFiles::read_piece(Followed& file, const WholePart& part) {
  Input input(file.file.path, file.source, {file.read.end, part.end, file.read.count});
  file.read = {part.end, file.read.count + part.count};
  readers_.try_emplace(file.group, file.file.kind, options_.tag).first->second.read(file.file, input);
  has_read_ = true;
}

void FollowedFiles::read_packed(const Followed& file) {
  Input input(file.file.path, options_);
  readers_.try_emplace(file.group, file.file.kind, options_.tag).first->second.read(file.file, input);
  has_read_ = true;
}

}  // namespace tare
