// A file system in memory that can stop the program at any call, and then choose what of the unsynced changes a real
// disk would have kept: any subset, writes torn anywhere, names apart from the contents that they name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lib/transaction/file_layer.hpp"

namespace tare::test {

/// The program was killed. Not a std::exception: nothing may catch it and carry on.
struct Killed {};

enum class Survival { nothing, everything, some };

class SimulatedDisk final : public FileLayer {
 public:
  SimulatedDisk();

  // ---- what a test sets up and looks at
  void add_folder(const std::string& path);
  void add_file(const std::string& path, const Bytes& bytes, mode_t mode = 0644);
  [[nodiscard]] bool has(const std::string& path) const { return find(path) != 0; }
  [[nodiscard]] const Bytes& bytes(const std::string& path) const { return live_.at(find(path)).bytes; }
  [[nodiscard]] mode_t mode(const std::string& path) const { return live_.at(find(path)).mode; }
  [[nodiscard]] timespec mtime(const std::string& path) const { return live_.at(find(path)).mtime; }
  [[nodiscard]] ino_t inode(const std::string& path) const { return find(path); }
  [[nodiscard]] struct stat status(const std::string& path);
  [[nodiscard]] std::vector<std::string> names_in(const std::string& folder) const;
  void remove(const std::string& path) { change_names({place(path, 0)}); }
  /// As if another program had written, at once and durable.
  void overwrite(const std::string& path, const Bytes& bytes);

  /// Kills the program before its `call`-th call that changes or syncs anything (from 1).
  void kill_at(std::uint64_t call) { kill_at_ = calls_ + call; }
  /// Lets that call fail once.
  void fail_at(std::uint64_t call, int error_number) {
    fail_at_ = calls_ + call;
    fail_with_ = error_number;
  }
  /// Lets another program run just before that call.
  void interrupt_at(std::uint64_t call, std::function<void()> other) {
    interrupt_at_ = calls_ + call;
    other_ = std::move(other);
  }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  /// The disk as it may be found after the power went: nothing is open or locked.
  [[nodiscard]] SimulatedDisk after_crash(Survival survival, std::uint32_t seed) const;

  void set_mode(const std::string& path, mode_t mode) { live_[find(path)].mode = durable_[find(path)].mode = mode; }
  void set_owner(const std::string& path, uid_t user) { live_[find(path)].user = durable_[find(path)].user = user; }
  void set_user(uid_t user) { user_ = user; }
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  /// Whoever looks at that name, in any folder, gets this error.
  void make_unseen(const std::string& name, int error_number) { unseen_[name] = error_number; }
  /// No second name can be made: what each try fails with (0: it can).
  void set_link_error(int error_number) { link_error_ = error_number; }
  /// No time can be set: what each try fails with (0: it can).
  void set_time_error(int error_number) { time_error_ = error_number; }
  /// Nothing can be locked: what each try fails with (0: it can).
  void set_lock_error(int error_number) { lock_error_ = error_number; }

  // ---- FileLayer
  int open_folder(int base, const std::string& path) override;
  int open_at(int folder, const std::string& name, int flags, mode_t mode) override;
  void close(int descriptor) noexcept override;
  std::int64_t pread(int descriptor, std::span<std::byte> to, std::uint64_t offset) override;
  std::int64_t pwrite(int descriptor, ByteView from, std::uint64_t offset) override;
  int fsync(int descriptor) override;
  int fdatasync(int descriptor) override;
  int ftruncate(int descriptor, std::uint64_t size) override;
  int fstat(int descriptor, struct stat& into) override;
  int stat_at(int folder, const std::string& name, struct stat& into) override;
  int fchmod(int descriptor, mode_t mode) override;
  int fchown(int descriptor, uid_t user, gid_t group) override;
  int set_mtime(int descriptor, timespec mtime) override;
  int rename_at(int from_folder, const std::string& from, int to_folder, const std::string& to) override;
  int link_at(int from_folder, const std::string& from, int to_folder, const std::string& to) override;
  int unlink_at(int folder, const std::string& name) override;
  int mkdir_at(int folder, const std::string& name, mode_t mode) override;
  int rmdir_at(int folder, const std::string& name) override;
  int list(int folder, std::size_t most, std::vector<FileEntry>& into) override;
  int resolve(const std::string& path, std::string& into) override;
  int try_lock(int descriptor) override;
  int is_locked(int descriptor) override;
  int clone(int, int) override { return -EOPNOTSUPP; }
  std::int64_t copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::uint64_t size) override;
  void copy_attributes(int, int) override {}
  timespec now() override;
  uid_t user() override { return user_; }

 private:
  static constexpr ino_t root = 1;

  struct Inode {
    bool is_folder = false;
    mode_t mode = 0;
    uid_t user = 0;
    Bytes bytes;
    timespec mtime{};
    std::map<std::string, ino_t> names;
  };
  using Image = std::map<ino_t, Inode>;

  struct NameChange {
    ino_t folder = 0;
    std::string name;
    ino_t inode = 0;  ///< 0: the name goes
  };
  enum class ChangeKind { write, resize, mode, mtime, names };
  /// One change that is not durable yet.
  struct Change {
    ChangeKind kind = ChangeKind::write;
    ino_t inode = 0;
    std::uint64_t at = 0;  ///< offset, size or mode
    Bytes bytes;
    timespec mtime{};
    std::vector<NameChange> names;
    std::set<ino_t> unsynced_folders;
  };
  struct Descriptor {
    ino_t inode = 0;
    bool writable = false;
  };

  [[nodiscard]] ino_t find(const std::string& path) const { return find(root, path); }
  /// What `path` leads to from a folder; 0 where it leads nowhere.
  [[nodiscard]] ino_t find(ino_t from, const std::string& path) const;
  /// What has that name in an open folder.
  [[nodiscard]] ino_t named(int folder, const std::string& name) const { return find(open_.at(folder).inode, name); }
  [[nodiscard]] NameChange in(int folder, const std::string& name, ino_t inode) const {
    return {open_.at(folder).inode, name, inode};
  }
  [[nodiscard]] NameChange place(const std::string& path, ino_t inode) const;
  [[nodiscard]] std::uint64_t links(ino_t inode) const;
  [[nodiscard]] std::uint64_t used() const;
  void fill(ino_t inode, struct stat& into) const;
  /// Counts a call; throws where the program is to be killed, returns the errno where the call is to fail.
  int begin();
  void require_alive() const;
  void change(Change made);
  void change_names(std::vector<NameChange> names);
  void touch(ino_t inode);
  void carry(const Change& change, Image& into) const;
  void carry_some(const Change& made, Image& into, std::mt19937& random) const;
  void sync_names(ino_t folder);

  Image live_;
  Image durable_;
  Image born_;  ///< inodes as they were created
  std::vector<Change> pending_;
  std::map<int, Descriptor> open_;
  std::map<ino_t, int> locks_;
  ino_t next_inode_ = 2;
  int next_descriptor_ = 3;
  std::int64_t clock_ = 1'700'000'000;
  std::uint64_t calls_ = 0;
  std::uint64_t kill_at_ = 0;
  std::uint64_t fail_at_ = 0;
  std::uint64_t interrupt_at_ = 0;
  std::function<void()> other_;
  int fail_with_ = 0;
  bool is_dead_ = false;
  int link_error_ = 0;
  int lock_error_ = 0;
  int time_error_ = 0;
  std::map<std::string, int> unseen_;
  uid_t user_ = 1000;
  std::uint64_t capacity_ = UINT64_MAX;
};

}  // namespace tare::test
