// Files with holes: what was never stored takes no room after an edit either.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/transaction/folder.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"
#include "tests/unit/transaction/splice_edit.hpp"

namespace tare::test {
namespace {

constexpr std::uint64_t sparse_bytes = std::uint64_t{600} << 20;
constexpr std::uint64_t most_stored = std::uint64_t{1} << 20;
constexpr std::uint64_t middle = sparse_bytes / 2;

std::uint64_t stored_bytes(const std::string& path) {
  return static_cast<std::uint64_t>(stat_of(path).st_blocks) * 512;
}

/// Data at the beginning, in the middle and at the end; holes between.
std::string sparse_file(const Scratch& scratch) {
  std::string path = scratch.write("sparse.pt", noise(4096, 1));
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  for (const std::uint64_t offset : {middle, sparse_bytes - 4096}) {
    const Bytes data = noise(4096, static_cast<std::uint32_t>(offset >> 20));
    REQUIRE(::pwrite(file, data.data(), data.size(), static_cast<off_t>(offset)) == 4096);
  }
  ::close(file);
  return path;
}

bool has_holes(const std::string& path) {
  return stored_bytes(path) < most_stored;
}

TEST_CASE("a file that is written anew keeps its holes, and so does its undo") {
  const Scratch scratch;
  const std::string path = sparse_file(scratch);
  if (!has_holes(path)) {
    WARN("no holes on this file system: not tried");
    return;
  }
  const Bytes at_end = read_at(path, sparse_bytes - 4096, 4096);
  const Bytes at_middle = read_at(path, middle, 4096);
  for (const std::size_t size : {std::size_t{9}, std::size_t{8}, std::size_t{3}}) {
    INFO("8 bytes become " << size);
    commit(system_files(), {splice_edit(path, 100, 8, noise(size, 7))}, {}, sealed());
    CHECK(has_holes(path));
    REQUIRE(static_cast<std::uint64_t>(stat_of(path).st_size) == sparse_bytes - 8 + size);
    CHECK(read_at(path, 100, size) == noise(size, 7));
    CHECK(read_at(path, middle - 8 + size, 4096) == at_middle);
    CHECK(read_at(path, middle / 2, 4096) == Bytes(4096));
    CHECK(read_at(path, sparse_bytes - 4096 - 8 + size, 4096) == at_end);
    undo(scope_of(system_files(), path, scratch.folder()));
    CHECK(has_holes(path));
    REQUIRE(static_cast<std::uint64_t>(stat_of(path).st_size) == sparse_bytes);
    CHECK(read_at(path, 0, 4096) == noise(4096, 1));
    CHECK(read_at(path, middle, 4096) == at_middle);
    CHECK(read_at(path, sparse_bytes - 4096, 4096) == at_end);
  }
}

TEST_CASE("holes that lie in the part which is exchanged stay holes, there and back") {
  const Scratch scratch;
  const std::string path = sparse_file(scratch);
  if (!has_holes(path)) {
    WARN("no holes on this file system: not tried");
    return;
  }
  constexpr std::size_t exchanged = std::size_t{16} << 20;
  const std::uint64_t stored = stored_bytes(path);
  Bytes after = read_at(path, 100, exchanged);
  after.insert(after.begin(), 3, std::byte{7});
  commit(system_files(), {splice_edit(path, 100, exchanged, after)}, {}, sealed());
  CHECK(stored_bytes(path) <= stored + 3 * 4096);
  CHECK(read_at(path, 100, after.size()) == after);
  undo(scope_of(system_files(), path, scratch.folder()));
  CHECK(stored_bytes(path) <= stored + 3 * 4096);
  CHECK(read_at(path, 0, 4096) == noise(4096, 1));
  CHECK(read_at(path, 100, exchanged) == Bytes(after.begin() + 3, after.end()));
}

TEST_CASE("zeros that are stored stay stored") {
  const Scratch scratch;
  const std::string path = scratch.write("dense.pt", Bytes(1 << 20));
  const std::uint64_t stored = stored_bytes(path);
  commit(system_files(), {splice_edit(path, 100, 1 << 19, Bytes((1 << 19) + 9))}, {}, sealed());
  CHECK(stored_bytes(path) >= stored);
}

TEST_CASE("a part of a file that holds data is told from its holes, and one without data is empty") {
  const Scratch scratch;
  const std::string path = sparse_file(scratch);
  if (!has_holes(path)) {
    WARN("no holes on this file system: not tried");
    return;
  }
  const OpenFile file = Folder::at(system_files(), scratch.folder()).open("sparse.pt", O_RDONLY);
  const auto data_in = [&](Span range) { return system_files().data_in(file.descriptor(), range); };
  CHECK(data_in({0, sparse_bytes}).offset == 0);
  const Span second = data_in({std::uint64_t{1} << 20, sparse_bytes - (std::uint64_t{1} << 20)});
  CHECK(second.offset <= middle);
  CHECK(second.end() >= middle + 4096);
  CHECK(second.size < most_stored);
  CHECK(data_in({std::uint64_t{1} << 20, 4096}).size == 0);
  CHECK(data_in({middle, 10}).size == 10);
  CHECK(data_in({sparse_bytes + 5, 10}).size == 0);
}

}  // namespace
}  // namespace tare::test
