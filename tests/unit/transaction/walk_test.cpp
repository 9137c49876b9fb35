// The way to a folder, by the kernel and by ourselves: on neither is a link followed, nor does one lead out.
#include "lib/transaction/walk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "lib/transaction/file_layer.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

constexpr std::array parts = {"a", "b", "link", "up", "..", ".", "", "file", "pipe", "absent"};

class Maze : public Scratch {
 public:
  Maze() {
    fs::create_directories(path("base/a/b/a"));
    fs::create_directories(path("a/b"));  // what ".." would lead to
    for (const char* at : {"base", "base/a", "base/a/b"}) {
      const std::string folder = path(at);
      fs::create_directory_symlink("a", folder + "/link");
      fs::create_directory_symlink("..", folder + "/up");
      write(std::string(at) + "/file", std::string("no folder"));
      REQUIRE(::mkfifo((folder + "/pipe").c_str(), 0644) == 0);
    }
    base_ = ::open(path("base").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(base_ >= 0);
  }
  ~Maze() { ::close(base_); }
  [[nodiscard]] int base() const { return base_; }

  /// The folder that such a path below `base` means where no part of it is a link or "..".
  [[nodiscard]] std::optional<ino_t> meant(const std::string& relative) const {
    fs::path at = path("base");
    for (const fs::path& part : fs::path(relative).relative_path()) {
      if (part == "..") return std::nullopt;
      if (!part.empty()) at /= part;
      if (!fs::is_directory(fs::symlink_status(at))) return std::nullopt;
    }
    return stat_of(at.string()).st_ino;
  }

 private:
  int base_ = -1;
};

/// The folder that was reached, whose descriptor is closed.
std::optional<ino_t> reached(int opened) {
  if (opened < 0) {
    CHECK((opened == -ENOENT || opened == -ENOTDIR || opened == -ELOOP || opened == -EXDEV));
    return std::nullopt;
  }
  struct stat status {};
  REQUIRE(::fstat(opened, &status) == 0);
  ::close(opened);
  return status.st_ino;
}

template <class Check>
void for_each_path(const Check& check) {
  for (const char* first : parts) {
    for (const char* second : parts) {
      for (const char* third : parts) check(std::string(first) + "/" + second + "/" + third);
    }
  }
}

TEST_CASE("part by part every folder is reached that lies below, and none by a link or dots") {
  const Maze maze;
  std::size_t count = 0;
  for_each_path([&](const std::string& path) {
    INFO(path);
    const auto meant = maze.meant(path);
    CHECK(reached(walk_by_parts(maze.base(), path)) == meant);
    CHECK(reached(walk_by_parts(no_folder, maze.path("base/" + path))) == meant);
    count += meant ? 1 : 0;
  });
  CHECK(count == 27);
}

TEST_CASE("the kernel's walk reaches what ours does, and never a folder outside") {
  const Maze maze;
  if (walk_at_once(maze.base(), "a") == -ENOSYS) {
    WARN("no openat2 here: not tried");
    return;
  }
  for_each_path([&](const std::string& path) {
    INFO(path);
    if (path.starts_with('/')) return;  // absolute: refused
    const auto meant = maze.meant(path);
    const auto at_once = reached(walk_at_once(maze.base(), path));
    if (meant) CHECK(at_once == meant);
    CHECK(at_once != stat_of(maze.folder()).st_ino);
    CHECK(at_once != stat_of(maze.path("a")).st_ino);
  });
}

TEST_CASE("no descriptor is left open by a walk") {
  const Maze maze;
  const auto open_ones = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), {}); };
  const auto before = open_ones();
  for_each_path([&](const std::string& path) { reached(walk_by_parts(maze.base(), path)); });
  CHECK(open_ones() == before);
}

}  // namespace
}  // namespace tare::test
