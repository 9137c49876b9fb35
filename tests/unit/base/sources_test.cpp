// Files, memory and windows as sources: what they read, what they refuse, and what of them others get to see.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "lib/base/error.hpp"
#include "lib/base/source.hpp"
#include "lib/base/standard_streams.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"

namespace tare {
namespace {

namespace fs = std::filesystem;
using test::status_of;

class Scratch {
 public:
  Scratch() { fs::create_directories(folder_); }
  ~Scratch() { fs::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return path(name);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_ =
      fs::canonical(fs::temp_directory_path()) / ("tare-sources-" + std::to_string(static_cast<long>(::getpid())));
};

std::string text_of(const Source& source, Span range) {
  return std::string(as_text(source.read(range)));
}

/// The descriptors of this process by which `path` is open.
std::vector<int> descriptors_of(const std::string& path) {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    if (fs::read_symlink(entry.path(), none) == path) found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

}  // namespace

TEST_CASE("a file that is read is open for reading alone, for no program that is started, and closed with its source") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", "0123456789");
  {
    const FileSource file(path);
    const std::vector<int> open = descriptors_of(path);
    REQUIRE(open.size() == 1);
    CHECK((::fcntl(open[0], F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((::fcntl(open[0], F_GETFL) & O_ACCMODE) == O_RDONLY);
  }
  CHECK(descriptors_of(path).empty());
}

TEST_CASE("a pipe, a folder and what is not there are refused at once, and not left open") {
  const Scratch scratch;
  REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  fs::create_directory(scratch.path("folder"));
  for (const char* name : {"pipe", "folder", "absent"}) {
    INFO(name);
    CHECK(status_of([&] { const FileSource file(scratch.path(name)); }) == Status::io);
    CHECK(descriptors_of(scratch.path(name)).empty());
  }
}

TEST_CASE("a file that was let go of is opened again to read, unless another has its name or it was written") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", "0123456789");
  const FileSource file(path);
  file.park();
  CHECK(descriptors_of(path).empty());
  CHECK(text_of(file, {3, 4}) == "3456");
  CHECK(descriptors_of(path).empty());
  (void)scratch.write("other.pt", "0123456789");
  fs::rename(scratch.path("other.pt"), path);
  CHECK(status_of([&] { (void)text_of(file, {3, 4}); }) == Status::io);
  CHECK(descriptors_of(path).empty());
  fs::remove(path);
  CHECK(status_of([&] { (void)text_of(file, {3, 4}); }) == Status::io);
}

TEST_CASE("sources are read up to their last byte and no further, and a file that becomes shorter is told") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", "0123456789");
  const auto file = std::make_shared<FileSource>(path);
  const auto memory =
      std::make_shared<MemorySource>("memory", Bytes(as_bytes("0123456789").begin(), as_bytes("0123456789").end()));
  const auto window = std::make_shared<WindowSource>(memory, Span{0, 10}, "window");
  for (const std::shared_ptr<const Source>& source : {std::shared_ptr<const Source>(file), {memory}, {window}}) {
    INFO(source->name());
    CHECK(source->size() == 10);
    CHECK(text_of(*source, {0, 10}) == "0123456789");
    CHECK(text_of(*source, {9, 1}) == "9");
    CHECK(text_of(*source, {10, 0}).empty());
    for (const Span beyond : {Span{9, 2}, Span{10, 1}, Span{11, 0}, Span{UINT64_MAX, 1}, Span{1, UINT64_MAX}}) {
      CHECK(status_of([&] { (void)source->read(beyond); }) != Status::ok);
    }
  }
  fs::resize_file(path, 5);
  CHECK(text_of(*file, {0, 5}) == "01234");
  CHECK(status_of([&] { (void)text_of(*file, {0, 6}); }) == Status::io);
}

TEST_CASE("a file that is opened where a standard stream was closed takes another number, and the stream's is free") {
  const int kept = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  const int opened = ::open("/dev/null", O_RDONLY);
  const int moved = above_standard_streams(opened);
  const bool is_free = ::fcntl(STDIN_FILENO, F_GETFD) < 0;
  const bool is_inherited = (::fcntl(moved, F_GETFD) & FD_CLOEXEC) == 0;
  const int above = above_standard_streams(moved);
  ::close(moved);
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
  CHECK(opened == STDIN_FILENO);
  CHECK(moved > STDERR_FILENO);
  CHECK(is_free);
  CHECK_FALSE(is_inherited);
  CHECK(above == moved);
  errno = ENOENT;
  CHECK(above_standard_streams(-1) == -1);
  CHECK(errno == ENOENT);
}

TEST_CASE("a window shows its part, and none is made that passes the end") {
  const auto whole =
      std::make_shared<MemorySource>("whole", Bytes(as_bytes("0123456789").begin(), as_bytes("0123456789").end()));
  const WindowSource window(whole, {3, 4}, "part");
  CHECK(window.size() == 4);
  CHECK(window.name() == "part");
  CHECK(text_of(window, {0, 4}) == "3456");
  CHECK(text_of(window, {2, 2}) == "56");
  CHECK(WindowSource(whole, {10, 0}, "empty").size() == 0);
  CHECK(WindowSource(whole, {0, 10}, "all").size() == 10);
  for (const Span beyond :
       {Span{0, 11}, Span{10, 1}, Span{11, 0}, Span{3, 8}, Span{UINT64_MAX, 2}, Span{2, UINT64_MAX}}) {
    CHECK(status_of([&] { const WindowSource none(whole, beyond, "part"); }) == Status::corrupt);
  }
}

}  // namespace tare
