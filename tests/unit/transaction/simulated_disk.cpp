#include "tests/unit/transaction/simulated_disk.hpp"

#include <algorithm>
#include <cerrno>

#include "lib/base/file_path.hpp"

namespace tare::test {
namespace {

constexpr std::size_t longest_write = 400;  // short writes are legal, and every caller must cope with them

}  // namespace

SimulatedDisk::SimulatedDisk() {
  Inode folder;
  folder.is_folder = true;
  folder.mode = 0755;
  live_[root] = durable_[root] = born_[root] = folder;
}

// ---- set-up ---------------------------------------------------------------------------------------------------------

void SimulatedDisk::add_folder(const std::string& path) {
  Inode folder;
  folder.is_folder = true;
  folder.mode = 0755;
  folder.user = user_;
  const ino_t inode = next_inode_++;
  born_[inode] = live_[inode] = durable_[inode] = folder;
  const NameChange here = place(path, inode);
  live_[here.folder].names[here.name] = durable_[here.folder].names[here.name] = inode;
}

void SimulatedDisk::add_file(const std::string& path, const Bytes& bytes, mode_t mode) {
  Inode file;
  file.mode = mode;
  file.user = user_;
  file.bytes = bytes;
  file.mtime = now();
  const ino_t inode = next_inode_++;
  born_[inode] = live_[inode] = durable_[inode] = file;
  const NameChange here = place(path, inode);
  live_[here.folder].names[here.name] = durable_[here.folder].names[here.name] = inode;
}

struct stat SimulatedDisk::status(const std::string& path) {
  struct stat status {};
  fill(find(path), status);
  return status;
}

void SimulatedDisk::overwrite(const std::string& path, const Bytes& bytes) {
  const ino_t inode = find(path);
  live_[inode].bytes = durable_[inode].bytes = bytes;
  live_[inode].mtime = durable_[inode].mtime = now();
}

ino_t SimulatedDisk::find(ino_t from, const std::string& path) const {
  ino_t inode = from;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name == ".") continue;
    const auto& names = live_.at(inode).names;
    const auto found = names.find(name);
    if (found == names.end()) return 0;
    inode = found->second;
  }
  return inode;
}

std::vector<std::string> SimulatedDisk::names_in(const std::string& folder) const {
  std::vector<std::string> names;
  const ino_t inode = find(folder);
  if (inode == 0) return names;
  for (const auto& [name, named] : live_.at(inode).names) names.push_back(name);
  return names;
}

SimulatedDisk::NameChange SimulatedDisk::place(const std::string& path, ino_t inode) const {
  return {find(folder_of(path)), path.substr(path.rfind('/') + 1), inode};
}

std::uint64_t SimulatedDisk::links(ino_t inode) const {
  std::uint64_t count = 0;
  for (const auto& [number, folder] : live_) {
    for (const auto& [name, named] : folder.names) count += named == inode ? 1 : 0;
  }
  return count;
}

std::uint64_t SimulatedDisk::used() const {
  std::uint64_t bytes = 0;
  for (const auto& [number, file] : live_) bytes += file.bytes.size();
  return bytes;
}

void SimulatedDisk::fill(ino_t inode, struct stat& into) const {
  const Inode& from = live_.at(inode);
  into = {};
  into.st_dev = 7;
  into.st_ino = inode;
  into.st_mode = from.mode | (from.is_folder ? S_IFDIR : S_IFREG);
  into.st_nlink = static_cast<nlink_t>(links(inode));
  into.st_uid = from.user;
  into.st_size = static_cast<off_t>(from.bytes.size());
  into.st_blocks = (into.st_size + 511) / 512;
  into.st_mtim = from.mtime;
}

// ---- crashes --------------------------------------------------------------------------------------------------------

void SimulatedDisk::require_alive() const {
  if (is_dead_) throw Killed{};
}

int SimulatedDisk::begin() {
  require_alive();
  ++calls_;
  is_dead_ = calls_ == kill_at_;
  require_alive();
  if (calls_ == fail_at_) return fail_with_;
  if (calls_ == interrupt_at_) other_();
  return 0;
}

void SimulatedDisk::carry(const Change& change, Image& into) const {
  const auto present = [&](ino_t inode) -> Inode& { return into.try_emplace(inode, born_.at(inode)).first->second; };
  switch (change.kind) {
    case ChangeKind::write: {
      Bytes& bytes = present(change.inode).bytes;
      bytes.resize(std::max<std::size_t>(bytes.size(), change.at + change.bytes.size()));
      std::copy(change.bytes.begin(), change.bytes.end(), bytes.begin() + static_cast<std::ptrdiff_t>(change.at));
      return;
    }
    case ChangeKind::resize:
      return present(change.inode).bytes.resize(change.at);
    case ChangeKind::mode:
      present(change.inode).mode = static_cast<mode_t>(change.at);
      return;
    case ChangeKind::mtime:
      present(change.inode).mtime = change.mtime;
      return;
    case ChangeKind::names:
      for (const NameChange& name : change.names) {
        auto& names = present(name.folder).names;
        if (name.inode == 0) {
          names.erase(name.name);
        } else {
          present(name.inode);
          names[name.name] = name.inode;
        }
      }
  }
}

void SimulatedDisk::carry_some(const Change& made, Image& into, std::mt19937& random) const {
  if (made.kind != ChangeKind::write) {
    if (random() % 2 == 0) carry(made, into);
    return;
  }
  // Torn into pieces, of which some arrive; where the file grew, others leave zeros: the size came, the bytes did not.
  for (std::size_t at = 0; at < made.bytes.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 64, made.bytes.size() - at);
    Change piece = made;
    piece.at = made.at + at;
    piece.bytes.assign(made.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                       made.bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
    const auto fate = random() % 3;
    const bool is_behind_end =
        piece.at >= into.try_emplace(made.inode, born_.at(made.inode)).first->second.bytes.size();
    if (fate == 1 && is_behind_end) std::fill(piece.bytes.begin(), piece.bytes.end(), std::byte{});
    if (fate == 0 || (fate == 1 && is_behind_end)) carry(piece, into);
    at += size;
  }
}

SimulatedDisk SimulatedDisk::after_crash(Survival survival, std::uint32_t seed) const {
  SimulatedDisk found = *this;
  std::mt19937 random(seed);
  for (const Change& made : pending_) {
    if (survival == Survival::everything) carry(made, found.durable_);
    if (survival == Survival::some) carry_some(made, found.durable_, random);
  }
  found.live_ = found.durable_;
  found.pending_.clear();
  found.open_.clear();
  found.locks_.clear();
  found.is_dead_ = false;
  found.kill_at_ = found.fail_at_ = 0;
  return found;
}

void SimulatedDisk::change(Change made) {
  carry(made, live_);
  pending_.push_back(std::move(made));
}

void SimulatedDisk::change_names(std::vector<NameChange> names) {
  Change made;
  made.kind = ChangeKind::names;
  for (const NameChange& name : names) made.unsynced_folders.insert(name.folder);
  made.names = std::move(names);
  change(std::move(made));
}

void SimulatedDisk::touch(ino_t inode) {
  Change made;
  made.kind = ChangeKind::mtime;
  made.inode = inode;
  made.mtime = now();
  change(std::move(made));
}

/// A change of names in two folders needs both synced, and none overtakes an earlier one of the same name.
void SimulatedDisk::sync_names(ino_t folder) {
  std::set<std::pair<ino_t, std::string>> waiting;
  std::vector<Change> kept;
  for (Change& made : pending_) {
    made.unsynced_folders.erase(folder);
    const bool is_overtaking = std::any_of(made.names.begin(), made.names.end(), [&](const NameChange& name) {
      return waiting.contains({name.folder, name.name});
    });
    if (made.kind == ChangeKind::names && made.unsynced_folders.empty() && !is_overtaking) {
      carry(made, durable_);
      continue;
    }
    for (const NameChange& name : made.names) waiting.insert({name.folder, name.name});
    kept.push_back(std::move(made));
  }
  pending_ = std::move(kept);
}

// ---- calls on open files --------------------------------------------------------------------------------------------

int SimulatedDisk::open_folder(int base, const std::string& path) {
  require_alive();
  const ino_t inode = base == no_folder ? find(path) : find(open_.at(base).inode, path);
  if (inode == 0) return -ENOENT;
  if (!live_.at(inode).is_folder) return -ENOTDIR;
  open_[next_descriptor_] = {inode, false};
  return next_descriptor_++;
}

int SimulatedDisk::open_at(int folder, const std::string& name, int flags, mode_t mode) {
  require_alive();
  ino_t inode = named(folder, name);
  if (inode == 0 && (flags & O_CREAT) == 0) return -ENOENT;
  if (inode != 0 && (flags & O_EXCL) != 0) return -EEXIST;
  if (inode == 0) {
    if (const int failure = begin()) return -failure;
    // A folder that was removed takes no names.
    if (links(open_.at(folder).inode) == 0) return -ENOENT;
    inode = next_inode_++;
    Inode file;
    file.mode = mode;
    file.user = user_;
    file.mtime = now();
    born_[inode] = live_[inode] = file;
    change_names({in(folder, name, inode)});
  } else {
    const Inode& file = live_.at(inode);
    const mode_t wanted = (flags & O_ACCMODE) == O_RDONLY ? S_IRUSR : S_IRUSR | S_IWUSR;
    if (user_ != 0 && (file.user != user_ || (file.mode & wanted) != wanted)) return -EACCES;
  }
  open_[next_descriptor_] = {inode, (flags & O_ACCMODE) != O_RDONLY};
  return next_descriptor_++;
}

void SimulatedDisk::close(int descriptor) noexcept {
  const auto found = open_.find(descriptor);
  if (found == open_.end()) return;
  const auto lock = locks_.find(found->second.inode);
  if (lock != locks_.end() && lock->second == descriptor) locks_.erase(lock);
  open_.erase(found);
}

std::int64_t SimulatedDisk::pread(int descriptor, std::span<std::byte> to, std::uint64_t offset) {
  require_alive();
  const Bytes& bytes = live_.at(open_.at(descriptor).inode).bytes;
  if (offset >= bytes.size()) return 0;
  const std::size_t size = std::min<std::size_t>(to.size(), bytes.size() - offset);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), size, to.begin());
  return static_cast<std::int64_t>(size);
}

std::int64_t SimulatedDisk::pwrite(int descriptor, ByteView from, std::uint64_t offset) {
  if (const int failure = begin()) return -failure;
  const Descriptor& file = open_.at(descriptor);
  if (!file.writable) return -EBADF;
  from = from.first(std::min(from.size(), longest_write));
  const std::uint64_t size = live_.at(file.inode).bytes.size();
  const std::uint64_t growth = offset + from.size() > size ? offset + from.size() - size : 0;
  if (growth > 0 && used() + growth > capacity_) return -ENOSPC;
  Change made;
  made.inode = file.inode;
  made.at = offset;
  made.bytes.assign(from.begin(), from.end());
  change(std::move(made));
  touch(file.inode);
  return static_cast<std::int64_t>(from.size());
}

int SimulatedDisk::fsync(int descriptor) {
  if (const int failure = begin()) return -failure;
  const ino_t inode = open_.at(descriptor).inode;
  if (live_.at(inode).is_folder) {
    sync_names(inode);
    return 0;
  }
  for (const Change& made : pending_) {
    if (made.kind != ChangeKind::names && made.inode == inode) carry(made, durable_);
  }
  std::erase_if(pending_, [&](const Change& c) { return c.kind != ChangeKind::names && c.inode == inode; });
  return 0;
}

int SimulatedDisk::fdatasync(int descriptor) {
  if (const int failure = begin()) return -failure;
  const ino_t inode = open_.at(descriptor).inode;
  const auto is_data = [&](const Change& c) {
    return c.inode == inode && (c.kind == ChangeKind::write || c.kind == ChangeKind::resize);
  };
  for (const Change& made : pending_) {
    if (is_data(made)) carry(made, durable_);
  }
  std::erase_if(pending_, is_data);
  return 0;
}

int SimulatedDisk::ftruncate(int descriptor, std::uint64_t size) {
  if (const int failure = begin()) return -failure;
  const ino_t inode = open_.at(descriptor).inode;
  Change made;
  made.kind = ChangeKind::resize;
  made.inode = inode;
  made.at = size;
  change(std::move(made));
  touch(inode);
  return 0;
}

int SimulatedDisk::fstat(int descriptor, struct stat& into) {
  require_alive();
  fill(open_.at(descriptor).inode, into);
  return 0;
}

int SimulatedDisk::fchmod(int descriptor, mode_t mode) {
  if (const int failure = begin()) return -failure;
  Change made;
  made.kind = ChangeKind::mode;
  made.inode = open_.at(descriptor).inode;
  made.at = mode;
  change(std::move(made));
  return 0;
}

int SimulatedDisk::fchown(int, uid_t, gid_t) {
  const int failure = begin();
  return failure != 0 ? -failure : -EPERM;
}

int SimulatedDisk::set_mtime(int descriptor, timespec mtime) {
  if (const int failure = begin()) return -failure;
  if (time_error_ != 0) return -time_error_;
  Change made;
  made.kind = ChangeKind::mtime;
  made.inode = open_.at(descriptor).inode;
  made.mtime = mtime;
  change(std::move(made));
  return 0;
}

int SimulatedDisk::try_lock(int descriptor) {
  require_alive();
  if (lock_error_ != 0) return -lock_error_;
  const auto [lock, is_new] = locks_.try_emplace(open_.at(descriptor).inode, descriptor);
  return is_new || lock->second == descriptor ? 0 : -EAGAIN;
}

int SimulatedDisk::is_locked(int descriptor) {
  require_alive();
  if (lock_error_ != 0) return -lock_error_;
  const auto lock = locks_.find(open_.at(descriptor).inode);
  return lock != locks_.end() && lock->second != descriptor ? 1 : 0;
}

std::int64_t SimulatedDisk::copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                                       std::uint64_t size) {
  Bytes bytes(size);
  const std::int64_t read = pread(from, bytes, from_offset);
  return read <= 0 ? read : pwrite(to, ByteView(bytes).first(static_cast<std::size_t>(read)), to_offset);
}

timespec SimulatedDisk::now() {
  ++clock_;
  return {clock_, 123'456'789};
}

// ---- calls on names -------------------------------------------------------------------------------------------------

int SimulatedDisk::stat_at(int folder, const std::string& name, struct stat& into) {
  require_alive();
  if (const auto unseen = unseen_.find(name); unseen != unseen_.end()) return -unseen->second;
  const ino_t inode = named(folder, name);
  if (inode == 0) return -ENOENT;
  fill(inode, into);
  return 0;
}

int SimulatedDisk::rename_at(int from_folder, const std::string& from, int to_folder, const std::string& to) {
  if (const int failure = begin()) return -failure;
  const ino_t inode = named(from_folder, from);
  if (inode == 0) return -ENOENT;
  if (named(to_folder, to) == inode) return 0;  // two names of one file: POSIX does nothing
  change_names({in(from_folder, from, 0), in(to_folder, to, inode)});
  return 0;
}

int SimulatedDisk::link_at(int from_folder, const std::string& from, int to_folder, const std::string& to) {
  if (const int failure = begin()) return -failure;
  if (link_error_ != 0) return -link_error_;
  if (named(to_folder, to) != 0) return -EEXIST;
  change_names({in(to_folder, to, named(from_folder, from))});
  return 0;
}

int SimulatedDisk::unlink_at(int folder, const std::string& name) {
  require_alive();
  if (named(folder, name) == 0) return -ENOENT;
  if (const int failure = begin()) return -failure;
  change_names({in(folder, name, 0)});
  return 0;
}

int SimulatedDisk::mkdir_at(int folder, const std::string& name, mode_t mode) {
  require_alive();
  if (named(folder, name) != 0) return -EEXIST;
  if (const int failure = begin()) return -failure;
  Inode made;
  made.is_folder = true;
  made.mode = mode & 0755;
  made.user = user_;
  const ino_t inode = next_inode_++;
  born_[inode] = live_[inode] = made;
  change_names({in(folder, name, inode)});
  return 0;
}

int SimulatedDisk::rmdir_at(int folder, const std::string& name) {
  require_alive();
  const ino_t inode = named(folder, name);
  if (inode == 0) return -ENOENT;
  if (!live_.at(inode).names.empty()) return -ENOTEMPTY;
  if (const int failure = begin()) return -failure;
  change_names({in(folder, name, 0)});
  return 0;
}

int SimulatedDisk::list(int folder, std::size_t most, std::vector<FileEntry>& into) {
  require_alive();
  for (const auto& [name, named] : live_.at(open_.at(folder).inode).names) {
    if (most-- == 0) break;
    into.push_back({name, live_.at(named).is_folder ? FileType::folder : FileType::file});
  }
  return 0;
}

int SimulatedDisk::resolve(const std::string& path, std::string& into) {
  require_alive();
  if (find(path) == 0) return -ENOENT;
  into = path;
  return 0;
}

}  // namespace tare::test
