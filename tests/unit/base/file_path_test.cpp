#include "lib/base/file_path.hpp"

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a path is its folder, slash included, and its file's name") {
  struct Row {
    std::string_view path, folder, name;
  };
  for (const Row& row : {Row{"a/b/c.pt", "a/b/", "c.pt"}, Row{"c.pt", "", "c.pt"}, Row{"/c", "/", "c"},
                         Row{"a/", "a/", ""}, Row{"", "", ""}}) {
    INFO(row.path);
    CHECK(folder_prefix(row.path) == row.folder);
    CHECK(file_name(row.path) == row.name);
  }
}
