// Files that appear whole or not at all, on a disk whose calls are seen, and fail where a test wants them to.
#include "lib/codec/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

namespace fs = std::filesystem;
using namespace tare;

namespace {

/// What is done to names in `folder`, while it is watched.
struct Watched {
  std::string folder;
  std::vector<std::string> calls;
  std::string failing;                 ///< this call fails, the first time
  int error = 0;                       ///< with that
  std::optional<std::size_t> at_once;  ///< no more bytes than that are written by one call
};
Watched* watched = nullptr;

std::string name_of(const std::string& path) {
  const std::string name = path == watched->folder ? "the folder" : fs::path(path).filename().string();
  return name.starts_with(".tare-") ? "the new file" : name;
}

/// False where the call is to fail, with errno set. Other files are nobody's business.
bool may_go_on(const std::string& call, const std::string& path) {
  if (watched == nullptr || !path.starts_with(watched->folder)) return true;
  const std::string told = call + " " + name_of(path);
  watched->calls.push_back(told);
  if (told != watched->failing) return true;
  watched->failing.clear();
  errno = watched->error;
  return false;
}

std::string path_of(int descriptor) {
  std::error_code none;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), none).string();
}

}  // namespace

// In place of the C library's.
extern "C" {
int fsync(int descriptor) {
  const bool is_inherited = (::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0;
  if (!may_go_on(is_inherited ? "sync, open for others," : "sync", path_of(descriptor))) return -1;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (!may_go_on("write", path_of(descriptor))) return -1;
  const bool is_cut = watched != nullptr && watched->at_once && size > *watched->at_once;
  return ::syscall(SYS_write, descriptor, bytes, is_cut ? *watched->at_once : size);
}
int close(int descriptor) {
  const bool goes_on = may_go_on("close", path_of(descriptor));
  const auto closed = static_cast<int>(::syscall(SYS_close, descriptor));
  return goes_on ? closed : -1;
}
int rename(const char* from, const char* to) noexcept {
  if (!may_go_on("rename to", to)) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}

namespace {

class Scratch {
 public:
  Scratch() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~Scratch() { fs::remove_all(folder); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return folder + "/" + name; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path().filename().string());
    return all;
  }

  std::string folder = (fs::canonical(fs::temp_directory_path()) / ("tare-new-" + std::to_string(::getpid()))).string();
};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Writes `text` in two pieces while the calls are watched; the error's words, if there was one.
std::string written(Watched& watch, const std::string& path, const std::string& text) {
  const ByteView pieces[] = {as_bytes(text).first(1), as_bytes(text).subspan(1)};
  watched = &watch;
  std::string said;
  try {
    write_whole_file(path, pieces);
  } catch (const Error& error) {
    said = error.what();
  }
  watched = nullptr;
  return said;
}

using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("a new file is on the disk before it has its name, and its name is before the writing is done") {
  const Scratch scratch;
  Watched watch{scratch.folder, {}, {}, 0, {}};
  CHECK(written(watch, scratch.path("state.json"), "text").empty());
  CHECK(text_of(scratch.path("state.json")) == "text");
  CHECK(watch.calls == Calls{"write the new file", "write the new file", "sync the new file", "close the new file",
                             "rename to state.json", "sync the folder", "close the folder"});
}

TEST_CASE("a file whose writing fails anywhere leaves what was there, and nothing beside it") {
  const Scratch scratch;
  for (const char* call : {"write the new file", "sync the new file", "close the new file", "rename to state.json"}) {
    for (const int error : {ENOSPC, EIO}) {
      INFO(call << ", error " << error);
      std::ofstream(scratch.path("state.json")) << "before";
      Watched watch{scratch.folder, {}, call, error, {}};
      CHECK(written(watch, scratch.path("state.json"), "text").ends_with(std::strerror(error)));
      CHECK(watch.failing.empty());
      CHECK(text_of(scratch.path("state.json")) == "before");
      CHECK(scratch.names() == Calls{"state.json"});
    }
  }
}

TEST_CASE(
    "a write that is interrupted, or takes few bytes at once, goes on; a folder that cannot be synced does no harm") {
  const Scratch scratch;
  const std::string path = scratch.path("state.json");
  Watched interrupted{scratch.folder, {}, "write the new file", EINTR, {}};
  CHECK(written(interrupted, path, "text").empty());
  CHECK(text_of(path) == "text");
  Watched slow{scratch.folder, {}, {}, 0, 3};
  CHECK(written(slow, path, "a longer text").empty());
  CHECK(text_of(path) == "a longer text");
  Watched unsynced{scratch.folder, {}, "sync the folder", EINVAL, {}};
  CHECK(written(unsynced, path, "other").empty());
  CHECK(text_of(path) == "other");
}

TEST_CASE("a file that takes another's place has its mode, stays behind its link, and is no pipe, folder or device") {
  const Scratch scratch;
  const std::string path = scratch.path("state.json");
  std::ofstream(path) << "before";
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  fs::create_symlink("state.json", scratch.path("link.json"));
  write_whole_file(scratch.path("link.json"), as_bytes("text"));
  CHECK(text_of(path) == "text");
  CHECK(fs::is_symlink(scratch.path("link.json")));
  CHECK(fs::status(path).permissions() == fs::perms(0640));
  REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  for (const std::string& other : {scratch.path("pipe"), scratch.folder, std::string("/dev/null")}) {
    try {
      write_whole_file(other, as_bytes("text"));
      FAIL(other << " was replaced");
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
    }
  }
  CHECK(scratch.names().size() == 3);
}

TEST_CASE("names that others left where a new file is written first are passed over, a hundred and no more") {
  const Scratch scratch;
  const auto name = [&](int attempt) {
    return scratch.path(".tare-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp");
  };
  for (int attempt = 0; attempt < 99; ++attempt) std::ofstream(name(attempt)) << attempt;
  write_whole_file(scratch.path("state.json"), as_bytes("text"));
  CHECK(text_of(scratch.path("state.json")) == "text");
  std::ofstream(name(99)) << 99;
  CHECK_THROWS_AS(write_whole_file(scratch.path("state.json"), as_bytes("other")), Error);
  CHECK(text_of(scratch.path("state.json")) == "text");
  CHECK(text_of(name(7)) == "7");
  CHECK_THROWS_AS(write_whole_file(scratch.path("absent/state.json"), as_bytes("other")), Error);
}
