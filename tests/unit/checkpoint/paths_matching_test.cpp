#include "lib/checkpoint/paths_matching.hpp"

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

using Paths = std::vector<std::string>;

const MemoryFiles files({{"s3://b/run/step2/a.pt", "x"},
                         {"s3://b/run/step10/a.pt", "x"},
                         {"s3://b/run/step10/.metadata", "x"},
                         {"s3://b/run/log.txt", "x"},
                         {"s3://b/run2/step3/b.pt", "x"},
                         {"s3://b/odd/a*", "x"},
                         {"s3://b/odd/ab", "x"}});

Paths matching(const std::string& pattern) {
  return paths_matching(files, pattern, std::string("s3://b").size());
}

}  // namespace

TEST_CASE("wildcards stand for names in one folder, in natural order") {
  CHECK(matching("s3://b/run/step*") == Paths{"s3://b/run/step2", "s3://b/run/step10"});
  CHECK(matching("s3://b/run/step?") == Paths{"s3://b/run/step2"});
  CHECK(matching("s3://b/run*/step*/*.pt") ==
        Paths{"s3://b/run/step2/a.pt", "s3://b/run/step10/a.pt", "s3://b/run2/step3/b.pt"});
  CHECK(matching("s3://b/*/log.txt") == Paths{"s3://b/run/log.txt"});
  CHECK(matching("s3://b/*") == Paths{"s3://b/odd", "s3://b/run", "s3://b/run2"});
}

TEST_CASE("what has no wildcard is itself, there or not, and a name to the letter is meant alone") {
  CHECK(matching("s3://b/nothing") == Paths{"s3://b/nothing"});
  CHECK(matching("s3://b/odd/a*") == Paths{"s3://b/odd/a*"});
}

TEST_CASE("hidden names are meant only where the pattern says so, and what matches nothing is an error") {
  CHECK(matching("s3://b/run/step10/*") == Paths{"s3://b/run/step10/a.pt"});
  CHECK(matching("s3://b/run/step10/.m*") == Paths{"s3://b/run/step10/.metadata"});
  CHECK_THROWS_AS(matching("s3://b/run/nothing*"), Error);
  CHECK_THROWS_AS(matching("s3://b/run/log.txt/*"), Error);
}

TEST_CASE("of the file system a pattern is itself where nothing is called so, and a path where something is") {
  const MemoryFiles disk({{"/w/run/a*.pt", "x"}, {"/w/run/ab.pt", "x"}, {"/w/runs/step2/b.pt", "x"}});
  CHECK(local_paths_matching(disk, "/w/run/a*.pt") == Paths{"/w/run/a*.pt"});
  CHECK(local_paths_matching(disk, "/w/run/?b.pt") == Paths{"/w/run/ab.pt"});
  CHECK(local_paths_matching(disk, "/w/run*/step*/*.pt") == Paths{"/w/runs/step2/b.pt"});
  CHECK(local_paths_matching(disk, "/w/run/c*.pt") == Paths{"/w/run/c*.pt"});
  CHECK(local_paths_matching(disk, "/w/run/nothing") == Paths{"/w/run/nothing"});
}
