// Which files an edit is of: names that are one file, names by content, and the folder that holds them all.
#include "lib/transaction/target.hpp"

#include <cerrno>

#include "lib/base/error.hpp"
#include "lib/transaction/copied.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

Bytes text(std::string_view bytes) {
  return {as_bytes(bytes).begin(), as_bytes(bytes).end()};
}

/// Changes of which no two are the same.
std::vector<FileChange> different_changes() {
  const Patch patch{8, text("a"), text("b"), "scale"};
  const auto patched = [&](auto change) {
    Patch other = patch;
    change(other);
    return FileChange{{other}, {}, {}};
  };
  const auto appended = [](std::uint64_t size, std::string_view body, std::string_view commit) {
    return FileChange{{}, Append{size, text(body), text(commit), "x"}, {}};
  };
  const auto spliced = [](std::uint64_t at, std::string_view before, std::string_view after) {
    return FileChange{{}, {}, Splice{at, text(before), text(after), "x"}};
  };
  return {FileChange{},
          FileChange{{patch}, {}, {}},
          FileChange{{patch, {9, text("c"), text("d"), "x"}}, {}, {}},
          patched([](Patch& p) { p.offset = 9; }),
          patched([](Patch& p) { p.before = text("x"); }),
          patched([](Patch& p) { p.after = text("x"); }),
          appended(100, "b", "c"),
          appended(101, "b", "c"),
          appended(100, "x", "c"),
          appended(100, "b", "x"),
          FileChange{{patch}, Append{100, text("b"), text("c"), "x"}, {}},
          spliced(5, "b", "a"),
          spliced(6, "b", "a"),
          spliced(5, "x", "a"),
          spliced(5, "b", "x")};
}

TEST_CASE("two names of one file are one edit where they change it alike, and refused where they differ in anything") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  const std::vector<FileChange> changes = different_changes();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (std::size_t j = 0; j < changes.size(); ++j) {
      INFO(i << " and " << j);
      std::vector<FileEdit> edits = {{path, changes[i], {}}, {scratch.path("./scaler.pt"), changes[j], {}}};
      for (FileEdit& edit : edits) edit.planned = stat_of(path);
      std::size_t targets = 0;
      const Status status = status_of([&] { targets = targets_of(system_files(), edits, {}).size(); });
      CHECK(status == (i == j ? Status::ok : Status::invalid_argument));
      CHECK(targets == (i == j ? 1 : 0));
      edits[1].planned.inode += 1;
      CHECK(targets_of(system_files(), edits, {}).size() == 2);
    }
  }
}

TEST_CASE(
    "a file is named by its content as the caches of hubs, DVC, git-annex and git-lfs do it, and by no other name") {
  const Scratch scratch;
  struct Case {
    std::string name;
    bool is_named_by_content;
  };
  const Case cases[] = {{"blobs/" + std::string(40, 'a'), true},
                        {"blobs/" + std::string(64, 'f'), true},
                        {"blobs/" + std::string(40, '0'), true},
                        {"blobs/" + std::string(64, '9'), true},
                        {"blobs/" + std::string(39, 'a'), false},
                        {"blobs/" + std::string(41, 'a'), false},
                        {"blobs/" + std::string(63, 'a'), false},
                        {"blobs/" + std::string(65, 'a'), false},
                        {"blobs/" + std::string(39, 'a') + "g", false},
                        {"blobs/" + std::string(40, 'A'), false},
                        {"blobs/" + std::string(39, 'a') + "/", false},
                        {"files/" + std::string(40, 'a'), false},
                        {"blobs/in/" + std::string(40, 'a'), false},
                        {"myblobs/" + std::string(40, 'a'), false},
                        {"md5/cc/" + std::string(30, 'a'), true},
                        {"objects/0f/" + std::string(38, '1'), true},
                        {"sha256/ab/" + std::string(62, 'a'), true},
                        {"md5/cg/" + std::string(30, 'a'), false},
                        {"md5/ccc/" + std::string(30, 'a'), false},
                        {"md5/cc/" + std::string(31, 'a'), false},
                        {"lfs/aa/bb/aabb" + std::string(60, 'c'), true},
                        {"lfs/aa/bb/aabc" + std::string(60, 'c'), false},
                        {".git/annex/objects/Xx/Yy/SHA256E-s9--0a.pt/SHA256E-s9--0a.pt", true},
                        {"annex/Xx/Yy/SHA256E-s9--0a.pt/SHA256E-s9--0a.pt", false}};
  for (const auto& [name, is_named_by_content] : cases) {
    INFO(name);
    if (name.ends_with('/')) continue;
    FileEdit edit{scratch.write(name, noise(10, 1)), {}, {}};
    edit.planned = stat_of(edit.path);
    const auto status = [&](const TransactionOptions& options) {
      return status_of([&] { (void)targets_of(system_files(), {edit}, options); });
    };
    CHECK(status({}) == (is_named_by_content ? Status::refused : Status::ok));
    TransactionOptions meant;
    meant.allow_content_addressed = true;
    CHECK(status(meant) == Status::ok);
  }
}

TEST_CASE("a file that is gone is told as that, by the name that was given") {
  const Scratch scratch;
  const FileEdit edit{scratch.path("absent.pt"), {}, {}};
  try {
    (void)targets_of(system_files(), {edit}, {});
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.status == Status::io);
    CHECK(error.detail == ENOENT);
    CHECK(std::string(error.what()).starts_with(edit.path));
  }
}

TEST_CASE("the folder of several files is the deepest that holds all of them, by whole names") {
  const auto common = [](const std::vector<std::string>& paths) {
    static const FileEdit edit;
    std::vector<Target> targets;
    for (const std::string& path : paths) targets.push_back({&edit, path, false});
    return common_folder(targets);
  };
  CHECK(common({"/a/x"}) == "/a");
  CHECK(common({"/x"}) == "/");
  CHECK(common({"/a/b/x", "/a/b/y"}) == "/a/b");
  CHECK(common({"/a/b/x", "/a/c"}) == "/a");
  CHECK(common({"/a/b", "/a/b/c/d/e"}) == "/a");
  CHECK(common({"/a/b/x", "/a/bc/x"}) == "/a");
  CHECK(common({"/a/bc/x", "/a/b/x", "/a/b/y"}) == "/a");
  CHECK(common({"/a/x", "/b/y"}) == "/");
  CHECK(relative_to("/a", "/a/b/x") == "b/x");
  CHECK(relative_to("/", "/a/x") == "a/x");
}

TEST_CASE("a sum holds for a file that its list names as a whole word") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(10, 1));
  struct Case {
    const char* text;
    bool is_named;
  };
  for (const auto& [text, is_named] :
       {Case{"0123  scaler.pt\n", true}, Case{"0123 *scaler.pt", true}, Case{"0123  ./scaler.pt\n", true},
        Case{"scaler.pt", true}, Case{"{\"scaler.pt\": \"0123\"}", true}, Case{"'scaler.pt',", true},
        Case{"scaler.pt:0123", true}, Case{"scaler.pt,0123", true}, Case{"0123\tscaler.pt\r\n", true},
        Case{"0123  my_scaler.pt\n", false}, Case{"0123  scaler.pt.bak\n", false}, Case{"0123 -scaler.pt", false},
        Case{"0123  my_scaler.pt\n0123  scaler.pt\n", true}, Case{"scaler.ptx scaler.pt", true}, Case{"", false}}) {
    INFO(text);
    scratch.write("SHA256SUMS", std::string(text));
    const std::vector<Finding> findings = stale_checksums(system_files(), {path});
    REQUIRE(findings.size() == (is_named ? 1 : 0));
    if (!is_named) continue;
    CHECK(findings[0].code == "stale-checksum");
    CHECK(findings[0].message == scratch.path("SHA256SUMS") + " no longer holds for " + path);
  }
}

TEST_CASE("what is under way of a large copy is told once for each piece, and not at its end") {
  Journal journal;
  FileRecord file;
  file.write_method = WriteMethod::rewritten;
  file.size_before = 3 * Copied::piece + 10;
  file.swaps = {{0, Bytes(10), Bytes(20)}};
  FileRecord in_place;
  in_place.size_before = 100 * Copied::piece;
  journal.files = {in_place, file};
  using Told = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  Told told;
  const OnCopied on_copied = [&](std::uint64_t done, std::uint64_t size) { told.emplace_back(done, size); };
  Copied copied(journal, on_copied);
  constexpr std::uint64_t all = 3 * Copied::piece;
  copied.add(Copied::piece - 1);
  CHECK(told.empty());
  copied.add(1);
  CHECK(told == Told{{Copied::piece, all}});
  copied.add(Copied::piece + 5);
  copied.add(1);
  CHECK(told == Told{{Copied::piece, all}, {2 * Copied::piece + 5, all}});
  copied.add(Copied::piece - 6);
  CHECK(told.size() == 2);
  const OnCopied nobody;
  Copied silent(journal, nobody);
  silent.add(all);
}

}  // namespace
}  // namespace tare::test
