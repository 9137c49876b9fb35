#include "lib/transaction/undo.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

UndoResult undo_at(const Scratch& scratch, const std::string& path) {
  return undo(scope_of(system_files(), path, scratch.folder()));
}

Error refusal(const Scratch& scratch, const std::string& path) {
  try {
    undo_at(scratch, path);
  } catch (const Error& error) {
    return error;
  }
  FAIL("the undo was not refused");
  return Error(Status::ok, "");
}

TEST_CASE("undo brings back bytes, size, mode and mtime") {
  const Scratch scratch;
  const Bytes before = noise(500, 1);
  const std::string path = scratch.write("scaler.pt", before);
  REQUIRE(::chmod(path.c_str(), 0440) == 0);
  const struct stat old = stat_of(path);
  const FileEdit both{path, {{patch_of(before, 9, noise(8, 2))}, Append{500, noise(60, 3), noise(22, 4), ""}, {}}, old};
  commit(system_files(), {both}, {{path, "scaler", "growth_interval", "2000", "70000"}}, sealed());
  REQUIRE(bytes_of(path) == changed(before, both.change));
  REQUIRE_FALSE(is_same_time(stat_of(path).st_mtim, old.st_mtim));

  const UndoResult result = undo_at(scratch, path);
  CHECK(result.kind == UndoKind::undone);
  CHECK(result.number == 1);
  CHECK(result.files == std::vector<std::string>{path});
  REQUIRE(result.fields.size() == 1);
  CHECK(result.fields[0].file == path);
  CHECK(result.fields[0].before == "2000");
  CHECK(bytes_of(path) == before);
  const struct stat now = stat_of(path);
  CHECK(now.st_size == old.st_size);
  CHECK(now.st_mode == old.st_mode);
  CHECK(now.st_ino == old.st_ino);
  CHECK(is_same_time(now.st_mtim, old.st_mtim));
  CHECK(names_in(scratch.path(".tare")) == std::vector<std::string>{"000001.undone"});
}

TEST_CASE("undo repeats back through earlier edits, and then there is nothing to undo") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(200, 0));
  std::vector<Bytes> past = {bytes_of(path)};
  std::vector<timespec> times = {stat_of(path).st_mtim};
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    edit(path, 3 * seed, noise(8, seed));
    past.push_back(bytes_of(path));
    times.push_back(stat_of(path).st_mtim);
  }
  for (std::size_t left = 4; left > 0; --left) {
    CHECK(undo_at(scratch, path).number == left);
    CHECK(bytes_of(path) == past[left - 1]);
    CHECK(is_same_time(stat_of(path).st_mtim, times[left - 1]));
  }
  const Error error = refusal(scratch, path);
  CHECK(error.status == Status::refused);
  CHECK(std::string(error.what()) == path + ": nothing to undo");
}

TEST_CASE("an edit after an undo gets a number of its own") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(200, 0));
  edit(path, 0, noise(8, 1));
  undo_at(scratch, path);
  CHECK(edit(path, 0, noise(8, 2)).number == 2);
  CHECK(undo_at(scratch, path).number == 2);
  CHECK(bytes_of(path) == noise(200, 0));
  CHECK(refusal(scratch, path).status == Status::refused);
}

TEST_CASE("undo is for the whole transaction, whichever of its files is named") {
  const Scratch scratch;
  const std::string a = scratch.write("rank_0/m.pt", noise(100, 1));
  const std::string b = scratch.write("rank_1/m.pt", noise(100, 2));
  commit(system_files(), {patch_edit(a, 0, noise(4, 3)), patch_edit(b, 0, noise(4, 3))}, {}, sealed());
  CHECK(undo_at(scratch, b).files == std::vector<std::string>{a, b});
  CHECK(bytes_of(a) == noise(100, 1));
  CHECK(bytes_of(b) == noise(100, 2));
}

TEST_CASE("a later edit of one file has to be undone before that of all of them") {
  const Scratch scratch;
  const std::string a = scratch.write("rank_0/m.pt", noise(100, 1));
  const std::string b = scratch.write("rank_1/m.pt", noise(100, 2));
  commit(system_files(), {patch_edit(a, 0, noise(4, 3)), patch_edit(b, 0, noise(4, 3))}, {}, sealed());
  edit(b, 2, noise(4, 4));
  // Seen from `a` the edit of both is the last one, but `b` is no longer what it made of it.
  const Error error = refusal(scratch, a);
  CHECK(error.status == Status::refused);
  CHECK(std::string(error.what()) == b + ": is no longer what that edit made of it");
  CHECK(undo_at(scratch, scratch.folder()).files == std::vector<std::string>{b});
  CHECK(undo_at(scratch, scratch.folder()).files == std::vector<std::string>{a, b});
  CHECK(bytes_of(a) == noise(100, 1));
  CHECK(bytes_of(b) == noise(100, 2));
}

TEST_CASE("undo is refused where a file is no longer what the edit made of it") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(200'000, 1));
  edit(path, 8, noise(8, 2));
  const auto entries = names_in(scratch.path(".tare"));
  Bytes now = bytes_of(path);
  SECTION("the edited bytes changed") {
    now[10] ^= std::byte{1};
    scratch.write("scaler.pt", now);
  }
  SECTION("saved again with the same scaler and the same size, but other bytes towards the end") {
    now[199'000] ^= std::byte{1};
    scratch.write("scaler.pt", now);
  }
  SECTION("it grew") {
    now.push_back({});
    scratch.write("scaler.pt", now);
  }
  SECTION("it is shorter") {
    now.resize(100);
    scratch.write("scaler.pt", now);
  }
  SECTION("it is gone") {
    fs::remove(path);
  }
  SECTION("its name leads elsewhere") {
    fs::rename(path, scratch.path("moved.pt"));
    fs::create_symlink(scratch.path("moved.pt"), path);
  }
  const Error error = refusal(scratch, scratch.path("scaler.pt"));
  CHECK(error.status == Status::refused);
  CHECK(names_in(scratch.path(".tare")) == entries);
}

TEST_CASE("a checkpoint that is moved keeps its history") {
  const Scratch scratch;
  const std::string path = scratch.write("old/step/scaler.pt", noise(100, 1));
  edit(path, 8, noise(8, 2));
  fs::rename(scratch.path("old"), scratch.path("new"));
  const std::string moved = scratch.path("new/step/scaler.pt");
  const auto entries = history_of(scope_of(system_files(), moved, scratch.folder()));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].files == std::vector<std::string>{moved});
  CHECK(entries[0].fields.at(0).file == moved);
  undo_at(scratch, moved);
  CHECK(bytes_of(moved) == noise(100, 1));
}

TEST_CASE("a copy can be undone too, but its time stays its own") {
  const Scratch scratch;
  const std::string path = scratch.write("a/scaler.pt", noise(100, 1));
  const struct stat old = stat_of(path);
  edit(path, 8, noise(8, 2));
  fs::copy(scratch.path("a"), scratch.path("b"), fs::copy_options::recursive);
  undo_at(scratch, scratch.path("b"));
  CHECK(bytes_of(scratch.path("b/scaler.pt")) == noise(100, 1));
  CHECK_FALSE(is_same_time(stat_of(scratch.path("b/scaler.pt")).st_mtim, old.st_mtim));
  CHECK(bytes_of(path) != noise(100, 1));
}

TEST_CASE("undo brings back the old time where the file system kept the edit's to a microsecond or a second") {
  struct Case {
    const char* name;
    std::function<timespec(timespec)> kept;
    bool is_as_set;
  };
  const std::vector<Case> cases = {
      {"as it was set", [](timespec set) { return set; }, true},
      {"to a microsecond",
       [](timespec set) {
         return timespec{set.tv_sec, set.tv_nsec - set.tv_nsec % 1000};
       },
       true},
      {"to a second",
       [](timespec set) {
         return timespec{set.tv_sec, 0};
       },
       true},
      {"a nanosecond later",
       [](timespec set) {
         return timespec{set.tv_sec, set.tv_nsec + 1};
       },
       false},
      {"a microsecond earlier",
       [](timespec set) {
         return timespec{set.tv_sec, set.tv_nsec - 1000};
       },
       false},
      {"a second later",
       [](timespec set) {
         return timespec{set.tv_sec + 1, set.tv_nsec};
       },
       false},
      {"the second before",
       [](timespec set) {
         return timespec{set.tv_sec - 1, 0};
       },
       false},
  };
  for (const auto& [name, kept, is_as_set] : cases) {
    INFO(name);
    const Scratch scratch;
    const std::string path = scratch.write("scaler.pt", noise(100, 1));
    const timespec old = stat_of(path).st_mtim;
    timespec set{};
    do {  // one that tells microseconds from nanoseconds, and is no whole second
      edit(path, 8, noise(8, 2), "1024.0", sealed());
      set = stat_of(path).st_mtim;
      if (set.tv_nsec % 1000 < 998 && set.tv_nsec % 1000 > 0 && set.tv_nsec > 2000) break;
      undo_at(scratch, path);
    } while (true);
    const timespec times[2] = {{0, UTIME_OMIT}, kept(set)};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    undo_at(scratch, path);
    CHECK(bytes_of(path) == noise(100, 1));
    CHECK(is_same_time(stat_of(path).st_mtim, old) == is_as_set);
  }
}

TEST_CASE("history tells what was edited, when, from what to what, and what was undone") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  edit(path, 8, noise(8, 2), "1024.0");
  edit(path, 8, noise(8, 3), "2.0");
  undo_at(scratch, path);
  const auto entries = history_of(scope_of(system_files(), scratch.folder(), scratch.folder()));
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].number == 1);
  CHECK(entries[0].folder == scratch.folder());
  CHECK(entries[0].state == HistoryState::applied);
  CHECK(entries[0].undone_when.empty());
  CHECK(entries[0].fields.at(0).place == "scaler");
  CHECK(entries[0].fields.at(0).before == "65536.0");
  CHECK(entries[0].fields.at(0).after == "1024.0");
  CHECK(entries[0].when.size() == std::string("2026-03-01T12:00:00Z").size());
  CHECK(entries[1].state == HistoryState::undone);
  CHECK(entries[1].undone_when >= entries[1].when);
  CHECK(entries[1].fields.at(0).after == "2.0");
  CHECK(history_of(scope_of(system_files(), scratch.write("other.pt", noise(9, 9)), scratch.folder())).empty());
}

TEST_CASE("moments are written in UTC") {
  CHECK(utc_text({0, 0}) == "1970-01-01T00:00:00Z");
  CHECK(utc_text({1'767'225'599, 999'999'999}) == "2025-12-31T23:59:59Z");
}

TEST_CASE("pruning ends undo, and takes the records of other files for nothing") {
  const Scratch scratch;
  const std::string a = scratch.write("a.pt", noise(100, 1));
  const std::string b = scratch.write("b.pt", noise(100, 2));
  edit(a, 8, noise(8, 3));
  edit(b, 8, noise(8, 3));
  CHECK(prune(scope_of(system_files(), a, scratch.folder())).records == 1);
  CHECK(refusal(scratch, a).status == Status::refused);
  undo_at(scratch, b);
  CHECK(bytes_of(b) == noise(100, 2));
  CHECK(prune(scope_of(system_files(), scratch.folder(), scratch.folder())).records == 1);
  CHECK(names_in(scratch.folder()) == std::vector<std::string>{"a.pt", "b.pt"});
}

TEST_CASE("a damaged record is listed as such, and the others still work") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  edit(path, 8, noise(8, 2));
  edit(path, 8, noise(8, 3));
  undo_at(scratch, path);
  fs::resize_file(scratch.path(".tare/000002.undone"), 50);
  const auto entries = history_of(scope_of(system_files(), path, scratch.folder()));
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].state == HistoryState::damaged);
  CHECK(entries[0].number == 2);
  CHECK(undo_at(scratch, path).number == 1);
}

TEST_CASE("a file that got a second name since is not undone unless that is meant") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  edit(path, 8, noise(8, 2));
  fs::create_hard_link(path, scratch.path("snapshot.pt"));
  CHECK(refusal(scratch, path).status == Status::refused);
  UndoOptions options;
  options.allow_hard_links = true;
  undo(scope_of(system_files(), path, scratch.folder()), options);
  CHECK(bytes_of(scratch.path("snapshot.pt")) == noise(100, 1));
}

}  // namespace
}  // namespace tare::test
