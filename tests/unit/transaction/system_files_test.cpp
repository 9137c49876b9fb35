// The operating system as transactions call it: what fails says so, and no name leads elsewhere.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>

#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"
#include "lib/transaction/file_layer.hpp"
#include "lib/transaction/folder.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

constexpr int closed = 1'000'000;  // no process has as many

TEST_CASE("every call on what is not open fails, and none is taken for done") {
  FileLayer& files = system_files();
  Bytes room(4);
  struct stat status {};
  std::vector<FileEntry> entries;
  const std::function<std::int64_t()> calls[] = {
      [&] { return files.open_folder(closed, "a"); },
      [&] { return files.open_at(closed, "a", O_RDONLY, 0); },
      [&] { return files.pread(closed, room, 0); },
      [&] { return files.pwrite(closed, room, 0); },
      [&] { return files.fsync(closed); },
      [&] { return files.fdatasync(closed); },
      [&] { return files.ftruncate(closed, 1); },
      [&] { return files.fstat(closed, status); },
      [&] { return files.stat_at(closed, "a", status); },
      [&] { return files.fchmod(closed, 0600); },
      [&] { return files.fchown(closed, 0, 0); },
      [&] {
        return files.set_mtime(closed, {1, 2});
      },
      [&] { return files.rename_at(closed, "a", closed, "b"); },
      [&] { return files.link_at(closed, "a", closed, "b"); },
      [&] { return files.unlink_at(closed, "a"); },
      [&] { return files.mkdir_at(closed, "a", 0700); },
      [&] { return files.rmdir_at(closed, "a"); },
      [&] { return files.list(closed, 9, entries); },
      [&] { return files.try_lock(closed); },
      [&] { return files.is_locked(closed); },
      [&] { return files.clone(closed, closed); },
      [&] { return files.copy_range(closed, 0, closed, 0, 4); },
  };
  for (std::size_t i = 0; i < std::size(calls); ++i) {
    INFO("call " << i);
    CHECK(calls[i]() == -EBADF);
  }
}

TEST_CASE("a name that is a link is not followed, a pipe is not waited for, and nobody inherits what is open") {
  const Scratch scratch;
  scratch.write("file", noise(10, 1));
  fs::create_symlink("file", scratch.path("link"));
  REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  const Folder folder = Folder::at(system_files(), scratch.folder());
  CHECK(folder.try_open("link", O_RDONLY) == -ELOOP);
  CHECK(folder.try_open("absent", O_RDONLY) == -ENOENT);
  const OpenFile pipe = folder.open("pipe", O_RDONLY);
  CHECK(S_ISFIFO(pipe.status().st_mode));
  const OpenFile file = folder.open("file", O_RDONLY);
  for (const int descriptor : {file.descriptor(), folder.descriptor()}) {
    CHECK((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
  }
  const auto status = folder.status("link");
  REQUIRE(status);
  CHECK(S_ISLNK(status->st_mode));
}

TEST_CASE("what is read and written is all of it, or an error that names the file") {
  const Scratch scratch;
  const Bytes bytes = noise(3'000'000, 1);
  scratch.write("from", bytes);
  const Folder folder = Folder::at(system_files(), scratch.folder());
  const OpenFile from = folder.open("from", O_RDONLY);
  CHECK(from.size() == bytes.size());
  CHECK(from.read({0, bytes.size()}) == bytes);
  CHECK(from.read({2'999'999, 1}) == Bytes{bytes.back()});
  try {
    (void)from.read({2'999'999, 2});
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.status == Status::io);
    CHECK(std::string(error.what()) == scratch.path("from") + ": ends before byte 3000001");
  }
  const OpenFile to = folder.open("to", O_RDWR | O_CREAT | O_EXCL, 0600);
  for (std::uint64_t done = 0; done < bytes.size();) {
    const auto count = system_files().copy_range(from.descriptor(), done, to.descriptor(), done, bytes.size() - done);
    REQUIRE(count > 0);
    done += static_cast<std::uint64_t>(count);
  }
  CHECK(system_files().copy_range(from.descriptor(), bytes.size(), to.descriptor(), bytes.size(), 10) == 0);
  CHECK(to.read({0, bytes.size()}) == bytes);
  to.write(5, noise(7, 2));
  CHECK(to.read({5, 7}) == noise(7, 2));
  to.resize(8);
  CHECK(to.size() == 8);
  REQUIRE(system_files().set_mtime(to.descriptor(), {1'600'000'000, 123'000'000}) == 0);
  CHECK(is_same_time(to.status().st_mtim, {1'600'000'000, 123'000'000}));
}

TEST_CASE("a lock is seen by others as long as its file is open, and taken by one alone") {
  const Scratch scratch;
  scratch.write("file", noise(10, 1));
  FileLayer& files = system_files();
  const Folder folder = Folder::at(files, scratch.folder());
  const OpenFile other = folder.open("file", O_RDWR);
  CHECK(files.is_locked(other.descriptor()) == 0);
  {
    const OpenFile held = folder.open("file", O_RDWR);
    CHECK(files.try_lock(held.descriptor()) == 0);
    CHECK(files.is_locked(other.descriptor()) == 1);
    CHECK(files.try_lock(other.descriptor()) == -EAGAIN);
  }
  CHECK(files.is_locked(other.descriptor()) == 0);
  CHECK(files.try_lock(other.descriptor()) == 0);
}

TEST_CASE("all extended attributes go along with a file that is written anew") {
  const Scratch scratch("/dev/shm");
  const std::string from = scratch.write("from", noise(10, 1));
  const std::string to = scratch.write("to", noise(10, 1));
  const std::vector<std::pair<std::string, std::string>> attributes = {
      {"user.a", "x"}, {"user.longer", std::string(300, 'y')}, {"user.none", ""}};
  for (const auto& [name, value] : attributes) {
    if (::setxattr(from.c_str(), name.c_str(), value.data(), value.size(), 0) == 0) continue;
    WARN("no extended attributes here: not tried");
    return;
  }
  const Folder folder = Folder::at(system_files(), scratch.folder());
  system_files().copy_attributes(folder.open("from", O_RDONLY).descriptor(), folder.open("to", O_RDWR).descriptor());
  for (const auto& [name, value] : attributes) {
    std::string got(1000, '\0');
    const ssize_t size = ::getxattr(to.c_str(), name.c_str(), got.data(), got.size());
    REQUIRE(size == static_cast<ssize_t>(value.size()));
    CHECK(got.substr(0, value.size()) == value);
  }
}

TEST_CASE("an error of the file system is told with what to do, where there is something") {
  struct Case {
    int number;
    const char* begins;
  };
  for (const auto& [number, begins] :
       {Case{EACCES, "you have no right to do that there"}, Case{EPERM, "the file is not yours"},
        Case{EROFS, "the file system is read-only"}, Case{ENOSPC, "the disk is full"},
        Case{EDQUOT, "your disk quota is used up"}, Case{EMFILE, "too many files are open"},
        Case{ETXTBSY, "the file is being executed"}, Case{EIO, ""}}) {
    try {
      throw_file_error("/a/b", number);
    } catch (const Error& error) {
      CHECK(error.status == Status::io);
      CHECK(error.detail == number);
      CHECK(std::string(error.what()).starts_with("/a/b: "));
      CHECK(error.hint.starts_with(begins));
      CHECK(error.hint.empty() == std::string_view(begins).empty());
    }
  }
  CHECK(checked(0, "x") == 0);
  CHECK(checked(7, "x") == 7);
  CHECK_THROWS_AS(checked(-1, "x"), Error);
  CHECK(joined("/a", "b") == "/a/b");
  CHECK(joined("/", "b") == "/b");
}

}  // namespace
}  // namespace tare::test
