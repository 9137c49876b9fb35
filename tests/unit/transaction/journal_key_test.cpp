#include "lib/transaction/journal_key.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

Sha256Digest seal(const JournalKey& key) {
  HmacSha256 sealing = key.sealing();
  sealing.add(as_bytes(std::string("journal")));
  return sealing.finish();
}

Status status_of_key(const std::string& folder) {
  return status_of([&] { journal_key(folder); });
}

TEST_CASE("a key is made once, for its user alone, and found again") {
  const Scratch scratch;
  const std::string folder = scratch.path("home/.local/state/tare");
  CHECK_FALSE(journal_key(folder).exists());
  CHECK_FALSE(exists(scratch.path("home")));  // looking makes nothing
  const JournalKey key = made_journal_key(folder);
  REQUIRE(key.exists());
  CHECK(seal(journal_key(folder)) == seal(key));
  CHECK(seal(made_journal_key(folder)) == seal(key));
  CHECK((stat_of(folder).st_mode & 07777) == 0700);
  CHECK((stat_of(folder + "/journal.key").st_mode & 07777) == 0600);
  CHECK(names_in(folder) == std::vector<std::string>{"journal.key"});
  CHECK(seal(made_journal_key(scratch.path("other"))) != seal(key));
}

TEST_CASE("a key that others can read, or that is no key, is refused") {
  const Scratch scratch;
  const std::string folder = scratch.path("tare");
  made_journal_key(folder);
  const std::string path = folder + "/journal.key";
  SECTION("readable") {
    ::chmod(path.c_str(), 0640);
  }
  SECTION("in a folder that others may write in") {
    ::chmod(folder.c_str(), 0770);
  }
  SECTION("cut short") {
    fs::resize_file(path, 31);
  }
  SECTION("a pipe") {
    fs::remove(path);
    ::mkfifo(path.c_str(), 0600);
  }
  CHECK(status_of_key(folder) == Status::refused);
}

TEST_CASE("where no key can be kept there is none, and that is no error") {
  CHECK_FALSE(made_journal_key("").exists());
  CHECK_FALSE(made_journal_key("relative/folder").exists());
  CHECK_FALSE(made_journal_key("/proc/no/such/place").exists());
}

}  // namespace
}  // namespace tare::test
