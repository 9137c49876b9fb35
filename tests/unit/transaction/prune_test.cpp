// What pruning takes, and what it leaves: journals and records in the folders above belong to others, too.
#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

/// A run of this user below a folder with a file of somebody else's, whose edit was interrupted; the run was edited.
struct Shared {
  explicit Shared(const JournalKey& key) {
    Journal journal;
    journal.number = 1;
    journal.id = "0123456789ab";
    FileRecord record;
    record.name = "theirs.pt";
    record.size_before = record.size_after = 8;
    record.swaps = {{0, noise(8, 1), noise(8, 2)}};
    record.mode = 0644;
    journal.files = {record};
    pending = scratch.write(".tare/pending", encoded(journal, key));
  }
  [[nodiscard]] Scope scope(const std::string& path) const { return scope_of(system_files(), path, scratch.folder()); }

  Scratch scratch;
  std::string theirs = scratch.write("theirs.pt", noise(8, 2));
  std::string mine = scratch.write("run/mine.pt", noise(100, 3));
  std::string pending;
};

JournalKey keys(std::uint32_t number) {
  return number == 0 ? own_key() : JournalKey(noise(JournalKey::size, 815));
}

TEST_CASE("pruning a run leaves an interrupted edit of other files above it alone, whoever made that") {
  for (const std::uint32_t number : {0U, 1U}) {
    INFO((number == 0 ? "this user" : "another one"));
    const Shared shared(keys(number));
    const Bytes journal = bytes_of(shared.pending);
    edit(shared.mine, 8, noise(8, 4), "1024.0", sealed());
    const Pruned pruned = prune(shared.scope(shared.scratch.path("run")));
    CHECK(pruned.records == 1);
    CHECK(pruned.ended.empty());
    CHECK(bytes_of(shared.pending) == journal);
    CHECK(bytes_of(shared.theirs) == noise(8, 2));
    CHECK_FALSE(exists(shared.scratch.path("run/.tare")));
  }
}

TEST_CASE("pruning one file is refused where an edit of its neighbour was interrupted, and does nothing") {
  for (const std::uint32_t number : {0U, 1U}) {
    INFO((number == 0 ? "this user" : "another one"));
    const Shared shared(keys(number));
    const std::string beside = shared.scratch.write("mine.pt", noise(100, 5));
    CHECK(prune(shared.scope(beside)).records == 0);  // nothing is on record
    fs::rename(shared.pending, shared.scratch.path("aside"));
    edit(beside, 8, noise(8, 4), "1024.0", sealed());
    fs::rename(shared.scratch.path("aside"), shared.pending);
    const auto names = names_in(shared.scratch.path(".tare"));
    CHECK(status_of([&] { prune(shared.scope(beside)); }) == Status::refused);
    CHECK(names_in(shared.scratch.path(".tare")) == names);
    CHECK(bytes_of(shared.theirs) == noise(8, 2));
  }
}

TEST_CASE("pruning what an interrupted edit changes ends it, and says whose it was") {
  for (const std::uint32_t number : {0U, 1U}) {
    INFO((number == 0 ? "this user" : "another one"));
    const Shared shared(keys(number));
    const Pruned pruned = prune(shared.scope(shared.theirs));
    REQUIRE(pruned.ended.size() == 1);
    CHECK(pruned.ended[0].is_own == (number == 0));
    CHECK(pruned.ended[0].files == std::vector<std::string>{shared.theirs});
    CHECK(bytes_of(shared.theirs) == noise(8, number == 0 ? 1 : 2));
    CHECK_FALSE(exists(shared.scratch.path(".tare")));
  }
}

TEST_CASE("records that nobody can read go where their folder is named, and stay in folders above it") {
  const Scratch scratch;
  const std::string above = scratch.write(".tare/000007.edit", noise(50, 1));
  const std::string named = scratch.write("run/.tare/000008.edit", noise(50, 2));
  scratch.write("run/mine.pt", noise(100, 3));
  CHECK(prune(scope_of(system_files(), scratch.path("run"), scratch.folder())).records == 1);
  CHECK(exists(above));
  CHECK_FALSE(exists(named));
}

TEST_CASE("an edit below a folder that may only be read is made where an edit of other files was interrupted in that") {
  Scene scene = all_scenes().front();
  const std::string path = scene.edits[0].path;
  Journal journal;
  journal.number = 1;
  journal.id = "0123456789ab";
  FileRecord record;
  record.name = "theirs.pt";
  record.size_before = record.size_after = 8;
  record.swaps = {{0, noise(8, 1), noise(8, 2)}};
  record.mode = 0644;
  journal.files = {record};
  scene.disk.add_file("/run/theirs.pt", noise(8, 2));
  scene.disk.add_folder("/run/.tare");
  scene.disk.add_file("/run/.tare/pending", encoded(journal, JournalKey(noise(JournalKey::size, 815))));
  scene.disk.set_mode("/run/.tare/pending", 0444);
  const auto old = states(scene.disk, scene.edits);
  commit(scene.disk, scene.edits, scene.fields(), sealed());
  CHECK(all_new(scene.disk, old, scene.edits));
  CHECK(prune(scope_of(scene.disk, home)).records == 1);
  CHECK(scene.disk.has("/run/.tare/pending"));
}

}  // namespace
}  // namespace tare::test
