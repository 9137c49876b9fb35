// Folders whose files are links to where several of them have their content.
#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

TEST_CASE("a folder whose files are links that lead out of it is told so, and how to go on") {
  const Scratch scratch;
  scratch.write("blobs/scaler", "PK\3\4");
  std::filesystem::create_directories(scratch.path("snapshots/rev"));
  std::filesystem::create_symlink("../../blobs/scaler", scratch.path("snapshots/rev/scaler.pt"));
  try {
    open_checkpoint(scratch.path("snapshots/rev"), {});
    FAIL("nothing in it is read");
  } catch (const Error& error) {
    CHECK(error.status == Status::not_found);
    CHECK_THAT(error.what(), Catch::Contains("behind links that lead out of it (scaler.pt)"));
    CHECK_THAT(error.hint, Catch::Contains("give one of them by its name"));
  }
}

}  // namespace
