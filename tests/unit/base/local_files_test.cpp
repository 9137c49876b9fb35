// Folders and links of the file system.
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/base/local_paths.hpp"
#include "tests/catch.hpp"

namespace tare {
namespace {

/// run/ with a file, a folder and links, and runner/ beside it; gone at the end.
struct Tree {
  Tree() : root((std::filesystem::temp_directory_path() / "tare-base-XXXXXX").string()) {
    if (mkdtemp(root.data()) == nullptr) throw std::runtime_error("no folder can be made at " + root);
    std::filesystem::create_directories(root + "/run/step");
    std::filesystem::create_directories(root + "/runner");
    std::ofstream(root + "/run/scaler.pt") << "x";
    std::ofstream(root + "/runner/scaler.pt") << "x";
    std::filesystem::create_symlink("step", root + "/run/last");
    std::filesystem::create_symlink("../runner/scaler.pt", root + "/run/away");
    std::filesystem::create_symlink("nothing", root + "/run/lost");
  }
  ~Tree() { std::filesystem::remove_all(root); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  std::string root;
};

}  // namespace

TEST_CASE("a folder lists what stands in it, and follows no link") {
  const Tree tree;
  std::map<std::string, FileType> types;
  for (const FileEntry& entry : local_files().list(tree.root + "/run")) types[entry.name] = entry.type;
  CHECK(types == std::map<std::string, FileType>{{"scaler.pt", FileType::file},
                                                 {"step", FileType::folder},
                                                 {"last", FileType::link},
                                                 {"away", FileType::link},
                                                 {"lost", FileType::link}});
  std::vector<FileEntry> some;
  CHECK(list_folder(tree.root + "/run", 2, some) == 0);
  CHECK(some.size() == 2);
  CHECK(list_folder(tree.root + "/nothing", 2, some) == ENOENT);
  CHECK_THROWS_AS(local_files().list(tree.root + "/run/scaler.pt"), Error);
}

TEST_CASE("a path is inside of a folder where its links lead") {
  const Tree tree;
  const std::string run = tree.root + "/run";
  const Files& files = local_files();
  CHECK(files.is_inside(run + "/scaler.pt", run));
  CHECK(files.is_inside(run + "/last", run + "/"));
  CHECK(files.is_inside(run, run));
  CHECK(files.is_inside(run, "/"));
  CHECK(!files.is_inside(run + "/away", run));
  CHECK(!files.is_inside(tree.root + "/runner", run));
  CHECK(!files.is_inside(run + "/lost", run));
}

TEST_CASE("who names a URL that tare does not read is told which it reads") {
  const auto hint_of = [](const std::string& path) {
    try {
      throw_io(path, ENOENT);
    } catch (const Error& error) {
      return error.hint;
    }
  };
  CHECK_THAT(hint_of("abfs://container/run"), Catch::Contains("az://CONTAINER/"));
  CHECK_THAT(hint_of("s3://"), Catch::Contains("s3://BUCKET/"));
  CHECK(hint_of("s3://bucket/run").empty());
  CHECK(hint_of("run/a:b").empty());
}

TEST_CASE("memory that ran out is no error of a file") {
  CHECK_THROWS_AS(throw_io("scaler.pt", ENOMEM), std::bad_alloc);
  CHECK_THROWS_AS(throw_io("scaler.pt", EIO), Error);
}

}  // namespace tare
