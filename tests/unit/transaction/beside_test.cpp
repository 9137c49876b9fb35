// What lies beside an edited file, however odd it is: the change is made, and the receipt says so.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <filesystem>

#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> codes(const Receipt& receipt) {
  std::vector<std::string> codes;
  for (const Finding& finding : receipt.findings) codes.push_back(finding.code);
  return codes;
}

void check_edit_and_undo(const std::string& path, const std::string& upper) {
  const Bytes before = bytes_of(path);
  const Receipt receipt = edit(path, 8, noise(8, 2), "1024.0", sealed());
  CHECK(receipt.findings.empty());
  CHECK(bytes_of(path) != before);
  undo(scope_of(system_files(), path, upper));
  CHECK(bytes_of(path) == before);
}

TEST_CASE("a file is edited and restored whose name is as long as names can be") {
  for (std::size_t length = 240; length <= 255; ++length) {
    INFO(length << " bytes");
    const Scratch scratch;
    check_edit_and_undo(scratch.write(std::string(length, 'f'), noise(64, 1)), scratch.folder());
  }
}

TEST_CASE("a file is edited and restored where the paths of its checksums would be too long") {
  constexpr std::size_t folder_bytes = PATH_MAX - 60;
  const Scratch scratch;
  std::string folder;
  while (scratch.folder().size() + folder.size() < folder_bytes - 200) folder += std::string(99, 'd') + "/";
  folder += std::string(folder_bytes - scratch.folder().size() - folder.size(), 'e') + "/";
  const std::string name(PATH_MAX - 4 - scratch.folder().size() - 1 - folder.size(), 'f');
  const std::string path = scratch.write(folder + name, noise(64, 1));
  REQUIRE(path.size() == PATH_MAX - 4);
  check_edit_and_undo(path, scratch.folder());
}

TEST_CASE("checksums that cannot be read are said to be unknown, and fail nothing") {
  const Scratch scratch;
  const std::string path = scratch.write("a.pt", noise(64, 1));
  SECTION("a pipe") {
    REQUIRE(::mkfifo(scratch.path("SHA256SUMS").c_str(), 0644) == 0);
  }
  SECTION("a link to itself") {
    fs::create_symlink("SHA256SUMS", scratch.path("SHA256SUMS"));
  }
  SECTION("a file that nobody may read") {
    if (::geteuid() == 0) {
      WARN("root may read everything: not tried");
      return;
    }
    fs::permissions(scratch.write("SHA256SUMS", std::string("00ff a.pt")), fs::perms::none);
  }
  SECTION("more than a list of sums") {
    scratch.write("SHA256SUMS", std::string("00ff a.pt\n"));
    fs::resize_file(scratch.path("SHA256SUMS"), std::uint64_t{1} << 40);
  }
  const Receipt receipt = edit(path, 8, noise(8, 2), "1024.0", sealed());
  CHECK(codes(receipt) == std::vector<std::string>{"checksum-not-read"});
  CHECK(receipt.files == std::vector<std::string>{path});
  undo(scope_of(system_files(), path, scratch.folder()));
  CHECK(bytes_of(path) == noise(64, 1));
}

TEST_CASE("a disk that fails where checksums are looked for fails no edit") {
  for (const int error : {EIO, EACCES, ELOOP, ENAMETOOLONG}) {
    INFO("error " << error);
    Scene scene = all_scenes().front();
    const std::string path = scene.edits[0].path;
    scene.disk.make_unseen(path.substr(path.rfind('/') + 1) + ".sha256", error);
    scene.disk.make_unseen("SHA256SUMS", error);
    const auto old = states(scene.disk, scene.edits);
    const Receipt receipt = commit(scene.disk, scene.edits, scene.fields(), sealed());
    CHECK(all_new(scene.disk, old, scene.edits));
    for (const std::string& code : codes(receipt)) CHECK(code == "checksum-not-read");
    CHECK(receipt.findings.empty() == (error == ENAMETOOLONG));
  }
}

TEST_CASE("a list of sums as BSD writes it holds for the file that it names, and for no other") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(64, 1));
  scratch.write("SHA256SUMS", std::string("SHA256 (scaler.pt) = 00ff\n"));
  scratch.write("MD5SUMS", std::string("MD5 (other-scaler.pt) = 00ff\n"));
  const Receipt receipt = edit(path, 8, noise(8, 2), "1024.0", sealed());
  REQUIRE(codes(receipt) == std::vector<std::string>{"stale-checksum"});
  CHECK(receipt.findings[0].message.starts_with(scratch.path("SHA256SUMS")));
}

TEST_CASE("an undo tells of sums that were written of what was edited, and not of those from before") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(64, 1));
  scratch.write("SHA256SUMS", std::string("00ff  scaler.pt\n"));  // an hour old
  edit(path, 8, noise(8, 2), "1024.0", sealed());
  const std::string since = scratch.write("scaler.pt.sha256", std::string("00ff\n"));
  fs::last_write_time(since, fs::file_time_type::clock::now() + std::chrono::hours(1));
  const auto findings = undo(scope_of(system_files(), path, scratch.folder())).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].message == since + " no longer holds for " + path);
}

TEST_CASE("every kind of sums is named, whether few or many files of its folder are edited") {
  const std::vector<std::string> suffixes = {".sha256", ".sha256sum", ".sha512", ".sha1", ".md5",
                                             ".md5sum", ".b3",        ".crc32",  ".dvc"};
  const std::vector<std::string> lists = {"SHA256SUMS",       "SHA512SUMS",    "SHA1SUMS",       "MD5SUMS",
                                          "SHA256SUMS.txt",   "MD5SUMS.txt",   "sha256sums.txt", "md5sums.txt",
                                          "sha256sum.txt",    "md5sum.txt",    "sha256.txt",     "md5.txt",
                                          "checksums.sha256", "checksums.md5", "checksums.txt",  "checksums.json",
                                          "checklist.chk",    ".md5sums",      "integrity.json", "manifest.json"};
  for (const int count : {1, 4, 5, 8}) {
    INFO(count << " files");
    const Scratch scratch;
    std::vector<FileEdit> edits;
    for (int i = 0; i < count; ++i) {
      edits.push_back(patch_edit(scratch.write(std::to_string(i) + ".pt", noise(64, 1)), 8, noise(8, 2)));
    }
    std::vector<std::string> expected;
    for (const std::string& suffix : suffixes) {
      expected.push_back(scratch.write("0.pt" + suffix, std::string("00ff\n")) + " no longer holds for " +
                         scratch.path("0.pt"));
    }
    for (const std::string& list : lists) {
      expected.push_back(scratch.write(list, std::string("00ff  0.pt\n")) + " no longer holds for " +
                         scratch.path("0.pt"));
    }
    std::vector<std::string> told;
    for (const Finding& finding : commit(system_files(), edits, {}, sealed()).findings) told.push_back(finding.message);
    CHECK(told == expected);
  }
}

}  // namespace
}  // namespace tare::test
