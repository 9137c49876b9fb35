// How far other edits are looked for.
#include "lib/transaction/scope.hpp"

#include <sys/stat.h>

#include "lib/base/limits.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/forwarding_files.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

class FullFolder final : public ForwardingFiles {
 public:
  int list(int, std::size_t most, std::vector<FileEntry>& into) override {
    into.assign(std::min(most, count), {"rank.pt", FileType::file});
    return 0;
  }
  std::size_t count = 0;
};

TEST_CASE("a folder of more files than a checkpoint may have is refused, and one of as many is looked through") {
  const Scratch scratch;
  FullFolder files;
  files.count = limits::max_files - 1;  // the folder counts as well
  CHECK(scope_of(files, scratch.folder(), scratch.folder()).folders().size() == 1);
  files.count = limits::max_files;
  CHECK(status_of([&] { scope_of(files, scratch.folder(), scratch.folder()); }) == Status::unsupported);
}

TEST_CASE("folders are looked into as deep as a checkpoint may have them, and deeper ones are refused") {
  const Scratch scratch;
  std::string deepest = scratch.folder();
  const auto deepen = [&] {
    deepest += "/d";
    REQUIRE(::mkdir(deepest.c_str(), 0700) == 0);
  };
  for (std::size_t depth = 0; depth < limits::max_depth; ++depth) deepen();
  const auto folders = [&] { return scope_of(system_files(), scratch.folder(), scratch.folder()).folders(); };
  CHECK(folders().size() == limits::max_depth + 1);
  deepen();
  CHECK(status_of(folders) == Status::unsupported);
}

}  // namespace
}  // namespace tare::test
