// The operating system, where a test comes between two calls: it overrides those that it waits for.
#pragma once

#include "lib/transaction/file_layer.hpp"

namespace tare::test {

class ForwardingFiles : public FileLayer {
 public:
  int open_folder(int base, const std::string& path) override { return real_.open_folder(base, path); }
  int open_at(int folder, const std::string& name, int flags, mode_t mode) override {
    return real_.open_at(folder, name, flags, mode);
  }
  void close(int descriptor) noexcept override { real_.close(descriptor); }
  std::int64_t pread(int descriptor, std::span<std::byte> to, std::uint64_t offset) override {
    return real_.pread(descriptor, to, offset);
  }
  std::int64_t pwrite(int descriptor, ByteView from, std::uint64_t offset) override {
    return real_.pwrite(descriptor, from, offset);
  }
  int fsync(int descriptor) override { return real_.fsync(descriptor); }
  int fdatasync(int descriptor) override { return real_.fdatasync(descriptor); }
  int ftruncate(int descriptor, std::uint64_t size) override { return real_.ftruncate(descriptor, size); }
  int fstat(int descriptor, struct stat& into) override { return real_.fstat(descriptor, into); }
  int stat_at(int folder, const std::string& name, struct stat& into) override {
    return real_.stat_at(folder, name, into);
  }
  int fchmod(int descriptor, mode_t mode) override { return real_.fchmod(descriptor, mode); }
  int fchown(int descriptor, uid_t user, gid_t group) override { return real_.fchown(descriptor, user, group); }
  int set_mtime(int descriptor, timespec mtime) override { return real_.set_mtime(descriptor, mtime); }
  int rename_at(int from_folder, const std::string& from, int to_folder, const std::string& to) override {
    return real_.rename_at(from_folder, from, to_folder, to);
  }
  int link_at(int from_folder, const std::string& from, int to_folder, const std::string& to) override {
    return real_.link_at(from_folder, from, to_folder, to);
  }
  int unlink_at(int folder, const std::string& name) override { return real_.unlink_at(folder, name); }
  int mkdir_at(int folder, const std::string& name, mode_t mode) override { return real_.mkdir_at(folder, name, mode); }
  int rmdir_at(int folder, const std::string& name) override { return real_.rmdir_at(folder, name); }
  int list(int folder, std::size_t most, std::vector<FileEntry>& into) override {
    return real_.list(folder, most, into);
  }
  int resolve(const std::string& path, std::string& into) override { return real_.resolve(path, into); }
  int try_lock(int descriptor) override { return real_.try_lock(descriptor); }
  int is_locked(int descriptor) override { return real_.is_locked(descriptor); }
  int clone(int from, int to) override { return real_.clone(from, to); }
  std::int64_t copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::uint64_t size) override {
    return real_.copy_range(from, from_offset, to, to_offset, size);
  }
  void copy_attributes(int from, int to) override { real_.copy_attributes(from, to); }
  bool has_access_list(int descriptor) override { return real_.has_access_list(descriptor); }
  timespec now() override { return real_.now(); }
  uid_t user() override { return real_.user(); }

 private:
  FileLayer& real_ = system_files();
};

}  // namespace tare::test
