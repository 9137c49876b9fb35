#include "lib/remote/spoken_by.hpp"

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
