// The columns of an OCDBT database, as tensorstore's documentation of the format has them.
#include "lib/container/orbax/ocdbt_body.hpp"

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace std::string_literals;

namespace {

std::vector<OcdbtFile> files_of(const std::string& body, const std::string& base) {
  const std::string name = "manifest.ocdbt";
  Budget budget(name, body.size());
  OcdbtColumns columns(as_bytes(body), name, budget);
  std::vector<OcdbtFile> files = ocdbt_files(columns, base);
  CHECK(columns.at() == body.size());
  return files;
}

}  // namespace

TEST_CASE("a database's data files are found by paths that share their fronts with the ones before them") {
  // How many; what each but the first shares; how long its own part is; how much of it is its base; those parts.
  const std::vector<OcdbtFile> files =
      files_of("\x03\x04\x02\x07\x01\x03\x04\x00\x02"s + "d/01/f2" + "3" + "e/g", "run/");
  REQUIRE(files.size() == 3);
  CHECK(files[0].path == "run/d/01/f2");
  CHECK(files[0].base == "run/d/01");
  CHECK(files[1].path == "run/d/013");
  CHECK(files[1].base == "run/");
  CHECK(files[2].path == "run/d/e/g");
  CHECK(files[2].base == "run/d/");
  CHECK(files_of("\x00"s, "").empty());
  CHECK(files_of("\x01\x01\x00x"s, "")[0].path == "x");
}

TEST_CASE("a path that shares more than there is, or is all base and more, is told as damage") {
  CHECK(test::status_of([] { files_of("\x02\x02\x01\x01\x00\x00xy"s, ""); }) == Status::corrupt);
  CHECK(test::status_of([] { files_of("\x01\x01\x02x"s, ""); }) == Status::corrupt);
  CHECK(test::status_of([] { files_of("\x09\x01\x02x"s, ""); }) == Status::corrupt);
}
