#include "lib/remote/spoken_by.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE(
    "words are parted by blanks, and quotes hold them together; nothing "
    "else means anything") {
  CHECK(words_of_command(R"( "/opt/my tools/keys" --for 'a b'c  "")") ==
        Words{"/opt/my tools/keys", "--for", "a bc", ""});
  CHECK(words_of_command("give $HOME; rm *") == Words{"give", "$HOME;", "rm", "*"});
  CHECK(words_of_command("  ").empty());
}

TEST_CASE(
    "what a program prints is read to its end; one that fails, prints "
    "too much or is not there is an error") {
  CHECK(as_text(spoken_by({"printf", "a\\nb"}, 10)) == "a\nb");
  CHECK_THROWS_AS(spoken_by({"false"}, 10), Error);
  CHECK_THROWS_AS(spoken_by({"printf", "0123456789a"}, 10), Error);
  CHECK_THROWS_AS(spoken_by({"/nothing/here"}, 10), Error);
  CHECK_THROWS_AS(spoken_by({}, 10), Error);
}

TEST_CASE("a program that lies in the current folder is not run, whatever PATH says") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("tare-planted-" + std::to_string(::getpid()));
  const fs::path before = fs::current_path();
  const std::string path = std::getenv("PATH");
  fs::create_directories(folder / "bin");
  for (const fs::path& planted : {folder / "tare-planted", folder / "bin" / "tare-planted"}) {
    std::ofstream(planted) << "#!/bin/sh\necho planted\n";
    fs::permissions(planted, fs::perms::owner_all);
  }
  fs::current_path(folder);
  for (const char* open : {":", ".:", "bin:", ":.:bin"}) {
    ::setenv("PATH", (open + path).c_str(), 1);
    CHECK_THROWS_AS(spoken_by({"tare-planted"}, 100), Error);
  }
  CHECK_THROWS_AS(spoken_by({"./tare-planted"}, 100), Error);
  CHECK_THROWS_AS(spoken_by({"bin/tare-planted"}, 100), Error);
  CHECK(as_text(spoken_by({(folder / "tare-planted").string()}, 100)) == "planted\n");
  ::setenv("PATH", ((folder / "bin").string() + ":" + path).c_str(), 1);
  CHECK(as_text(spoken_by({"tare-planted"}, 100)) == "planted\n");
  ::setenv("PATH", path.c_str(), 1);
  fs::current_path(before);
  fs::remove_all(folder);
}
