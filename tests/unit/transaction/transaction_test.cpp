#include "lib/transaction/transaction.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

Status refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    INFO(error.what());
    CHECK_FALSE(std::string(error.what()).empty());
    return error.status;
  }
  return Status::ok;
}

TEST_CASE("a patch changes its bytes and nothing else, in the same inode") {
  const Scratch scratch;
  const Bytes before = noise(5000, 1);
  const std::string path = scratch.write("scaler.pt", before);
  const struct stat old = stat_of(path);
  const Receipt receipt = edit(path, 4090, noise(8, 2));

  Bytes expected = before;
  const Bytes after = noise(8, 2);
  std::copy(after.begin(), after.end(), expected.begin() + 4090);
  CHECK(bytes_of(path) == expected);
  CHECK(stat_of(path).st_ino == old.st_ino);
  CHECK(stat_of(path).st_mode == old.st_mode);
  CHECK(receipt.number == 1);
  CHECK(receipt.folder == scratch.folder());
  CHECK(receipt.files == std::vector<std::string>{path});
  CHECK(receipt.findings.empty());
  CHECK(names_in(scratch.folder()) == std::vector<std::string>{".tare", "scaler.pt"});
  CHECK(names_in(scratch.path(".tare")) == std::vector<std::string>{"000001.edit"});
}

TEST_CASE("an append stands behind the old end, its commit bytes last") {
  const Scratch scratch;
  const Bytes before = noise(700, 1);
  const std::string path = scratch.write("scaler.pt", before);
  FileEdit grow{path, {{}, Append{700, noise(300, 2), noise(22, 3), "data.pkl"}, {}}, stat_of(path)};
  commit(system_files(), {grow}, {}, sealed());
  CHECK(bytes_of(path) == changed(before, grow.change));
  CHECK(stat_of(path).st_size == 1022);
}

TEST_CASE("a splice rewrites the file and keeps mode, attributes and what stands around it") {
  const Scratch scratch;
  const Bytes before = noise(3'000'000, 1);
  const std::string path = scratch.write("legacy.pt", before);
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  const bool has_attributes = ::setxattr(path.c_str(), "user.origin", "run 7", 5, 0) == 0;
  const Bytes replaced(before.begin() + 1000, before.begin() + 1003);
  const FileEdit change{path, {{}, {}, Splice{1000, replaced, noise(9, 2), "window"}}, stat_of(path)};
  commit(system_files(), {change}, {}, sealed());
  CHECK(bytes_of(path) == changed(before, change.change));
  CHECK((stat_of(path).st_mode & 07777) == 0640);
  if (has_attributes) {
    char value[8] = {};
    CHECK(::getxattr(path.c_str(), "user.origin", value, sizeof value) == 5);
    CHECK(std::string(value) == "run 7");
  }
  CHECK(names_in(scratch.path(".tare")) == std::vector<std::string>{"000001.edit"});
  undo(scope_of(system_files(), path, scratch.folder()));
  CHECK(bytes_of(path) == before);
  CHECK((stat_of(path).st_mode & 07777) == 0640);
}

/// A file as a reader sees it that has mapped it.
class Mapped {
 public:
  explicit Mapped(const std::string& path) : size_(static_cast<std::size_t>(stat_of(path).st_size)) {
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    ::close(descriptor);
    REQUIRE(bytes_ != MAP_FAILED);
  }
  ~Mapped() { ::munmap(bytes_, size_); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  [[nodiscard]] Bytes bytes() const {
    const auto* begin = static_cast<const std::byte*>(bytes_);
    return {begin, begin + size_};
  }

 private:
  std::size_t size_;
  void* bytes_;
};

TEST_CASE("a reader that has mapped the file sees a patch, and the whole old file where it is written anew") {
  const Scratch scratch;
  const Bytes before = noise(20000, 1);
  const std::string patched = scratch.write("patched.pt", before);
  const std::string rewritten = scratch.write("rewritten.pt", before);
  const Mapped first(patched);
  const Mapped second(rewritten);
  edit(patched, 4090, noise(8, 2));
  const Bytes replaced(before.begin() + 1000, before.begin() + 1003);
  const FileEdit change{rewritten, {{}, {}, Splice{1000, replaced, noise(9, 2), "window"}}, stat_of(rewritten)};
  commit(system_files(), {change}, {}, sealed());
  CHECK(first.bytes() == bytes_of(patched));
  CHECK(first.bytes() != before);
  CHECK(second.bytes() == before);
  undo(scope_of(system_files(), patched, scratch.folder()));
  undo(scope_of(system_files(), rewritten, scratch.folder()));
  CHECK(first.bytes() == before);
  CHECK(second.bytes() == before);
}

TEST_CASE("the journal lies in the deepest folder that holds all files") {
  const Scratch scratch;
  const std::string a = scratch.write("run/step/rank_0/m.pt", noise(100, 1));
  const std::string b = scratch.write("run/step/rank_01/m.pt", noise(100, 2));
  const auto receipt =
      commit(system_files(), {patch_edit(a, 0, noise(4, 3)), patch_edit(b, 0, noise(4, 3))}, {}, sealed());
  CHECK(receipt.folder == scratch.path("run/step"));
  CHECK(names_in(scratch.path("run/step")) == std::vector<std::string>{".tare", "rank_0", "rank_01"});
}

TEST_CASE("without history nothing stays beside the file, and nothing can be undone") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  TransactionOptions options;
  options.keep_history = false;
  const Receipt receipt = edit(path, 8, noise(8, 2), "1.0", options);
  CHECK(receipt.number == 0);
  CHECK(receipt.files.size() == 1);
  CHECK(names_in(scratch.folder()) == std::vector<std::string>{"scaler.pt"});
  CHECK(refusal([&] { undo(scope_of(system_files(), path, scratch.folder())); }) == Status::refused);
}

TEST_CASE("without history earlier edits stay on record, but undo ends at the edit that is not") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  edit(path, 8, noise(8, 2));
  TransactionOptions options;
  options.keep_history = false;
  edit(path, 8, noise(8, 3), "1.0", options);
  CHECK(names_in(scratch.path(".tare")) == std::vector<std::string>{"000001.edit"});
  CHECK(refusal([&] { undo(scope_of(system_files(), path, scratch.folder())); }) == Status::refused);
}

TEST_CASE("an edit that changes no byte writes nothing") {
  const Scratch scratch;
  const Bytes before = noise(100, 1);
  const std::string path = scratch.write("scaler.pt", before);
  const struct stat old = stat_of(path);
  const Receipt receipt = edit(path, 8, {before.begin() + 8, before.begin() + 16});
  CHECK(receipt.files.empty());
  CHECK(is_same_time(stat_of(path).st_mtim, old.st_mtim));
  CHECK(names_in(scratch.folder()) == std::vector<std::string>{"scaler.pt"});
}

TEST_CASE("a link is followed, and the file it leads to is edited where it lies") {
  const Scratch scratch;
  const std::string target = scratch.write("store/scaler.pt", noise(100, 1));
  const std::string link = scratch.path("scaler.pt");
  REQUIRE(::symlink("store/scaler.pt", link.c_str()) == 0);
  const Receipt receipt = edit(link, 8, noise(8, 2));
  CHECK(receipt.folder == scratch.path("store"));
  REQUIRE(receipt.findings.size() == 1);
  CHECK(receipt.findings[0].code == "edited-through-link");
  CHECK(S_ISLNK(stat_of(link).st_mode));
  Bytes expected = noise(100, 1);
  const Bytes after = noise(8, 2);
  std::copy(after.begin(), after.end(), expected.begin() + 8);
  CHECK(bytes_of(target) == expected);
  undo(scope_of(system_files(), link, scratch.folder()));
  CHECK(bytes_of(target) == noise(100, 1));
}

TEST_CASE("two names of one file are one edit where they agree, and refused where they do not") {
  const Scratch scratch;
  const std::string path = scratch.write("step.pt", noise(100, 1));
  const std::string link = scratch.path("latest.pt");
  REQUIRE(::symlink("step.pt", link.c_str()) == 0);
  const auto same = {patch_edit(path, 0, noise(4, 2)), patch_edit(link, 0, noise(4, 2))};
  const auto other = {patch_edit(path, 0, noise(4, 2)), patch_edit(link, 0, noise(4, 3))};
  CHECK(refusal([&] { commit(system_files(), other, {}, sealed()); }) == Status::invalid_argument);
  CHECK(commit(system_files(), same, {}, sealed()).files == std::vector<std::string>{path});
}

TEST_CASE("sums that no longer hold are named: those of the file itself, and lists that cover it") {
  const Scratch scratch;
  const std::string path = scratch.write("__0_0.distcp", noise(100, 1));
  scratch.write("__0_0.distcp.sha256", std::string("00ff  __0_0.distcp\n"));
  scratch.write("SHA256SUMS", std::string("00ff *other.pt\n11ee *__0_0.distcp\n"));
  scratch.write("MD5SUMS", std::string("00ff  big__0_0.distcp\n11ee  __0_0.distcp.old\n"));
  scratch.write("integrity.json", std::string(R"({"files":{"__0_0.distcp":"00ff"}})"));
  const Receipt receipt = edit(path, 8, noise(8, 2));
  std::vector<std::string> named;
  for (const Finding& finding : receipt.findings) {
    CHECK(finding.code == "stale-checksum");
    CHECK(finding.severity == Severity::warning);
    named.push_back(finding.message.substr(0, finding.message.find(" no longer")));
  }
  CHECK(named ==
        std::vector<std::string>{path + ".sha256", scratch.path("SHA256SUMS"), scratch.path("integrity.json")});
}

TEST_CASE("a list of sums that is part of the edit is not called stale") {
  const Scratch scratch;
  const std::string path = scratch.write("a.distcp", noise(100, 1));
  const std::string sums = scratch.write("integrity.json", std::string(R"({"a.distcp":"00ff"})"));
  const auto receipt =
      commit(system_files(), {patch_edit(path, 0, noise(4, 2)), patch_edit(sums, 13, noise(4, 3))}, {}, sealed());
  CHECK(receipt.findings.empty());
}

TEST_CASE("hundreds of files are one record") {
  const Scratch scratch;
  std::vector<FileEdit> edits;
  for (std::uint32_t rank = 0; rank < 300; ++rank) {
    const std::string path = scratch.write("rank_" + std::to_string(rank) + ".pt", noise(200, rank));
    edits.push_back(patch_edit(path, 100, noise(8, 1000)));
  }
  CHECK(commit(system_files(), edits, {}, sealed()).files.size() == 300);
  CHECK(names_in(scratch.path(".tare")) == std::vector<std::string>{"000001.edit"});
  CHECK(undo(scope_of(system_files(), scratch.path("rank_7.pt"), scratch.folder())).files.size() == 300);
  for (std::uint32_t rank = 0; rank < 300; ++rank) CHECK(bytes_of(edits[rank].path) == noise(200, rank));
}

}  // namespace
}  // namespace tare::test
