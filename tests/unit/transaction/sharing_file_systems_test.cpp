// File systems on which files share blocks (btrfs, XFS): a file that is written anew begins as a clone of the old one.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/forwarding_files.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"
#include "tests/unit/transaction/splice_edit.hpp"

namespace tare::test {
namespace {

constexpr std::size_t page = 4096;

class SharingFiles final : public ForwardingFiles {
 public:
  int clone(int from, int to) override {
    ++clones;
    struct stat status {};
    if (::fstat(from, &status) != 0 || ::ftruncate(to, 0) != 0) return -errno;
    Bytes bytes(static_cast<std::size_t>(status.st_size));
    const bool is_read = ::pread(from, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    return is_read && ::pwrite(to, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) ? 0 : -EIO;
  }
  Span data_in(int descriptor, Span range) override { return system_files().data_in(descriptor, range); }

  int clones = 0;
};

TEST_CASE(
    "a file that begins as a clone of the old one is the same as one that was copied, longer or shorter, and back") {
  const Bytes old = noise(5 * page, 1);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{100}, 2 * page, 5 * page - 8}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{900}, 2 * page}) {
      INFO("8 bytes at " << offset << " become " << size);
      const Scratch scratch;
      const std::string path = scratch.write("model.pt", old);
      SharingFiles files;
      const auto at = old.begin() + static_cast<std::ptrdiff_t>(offset);
      const Bytes after = noise(size, 7);
      commit(files, {splice_edit(path, offset, 8, after)}, {}, sealed());
      CHECK(files.clones == 1);
      Bytes expected(old.begin(), at);
      expected.insert(expected.end(), after.begin(), after.end());
      expected.insert(expected.end(), at + 8, old.end());
      CHECK(bytes_of(path) == expected);
      undo(scope_of(files, path, scratch.folder()));
      CHECK(files.clones == 2);
      CHECK(bytes_of(path) == old);
    }
  }
}

TEST_CASE("zeros that come where a clone's old bytes stand are zeros, where the old part had holes, too") {
  const Scratch scratch;
  const std::string path = scratch.write("sparse.pt", noise(page, 1));
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const Bytes data = noise(page, 2);
  REQUIRE(::pwrite(file, data.data(), data.size(), 2 * page) == static_cast<ssize_t>(page));
  ::close(file);
  const Bytes old = bytes_of(path);  // data, a hole, data
  Bytes after(page);
  after.insert(after.end(), data.begin(), data.end());
  after.resize(3 * page + 8);  // zeros, data, zeros
  SharingFiles files;
  commit(files, {splice_edit(path, 0, old.size(), after)}, {}, sealed());
  CHECK(files.clones == 1);
  CHECK(bytes_of(path) == after);
  undo(scope_of(files, path, scratch.folder()));
  CHECK(bytes_of(path) == old);
}

}  // namespace
}  // namespace tare::test
