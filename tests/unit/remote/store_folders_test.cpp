#include "lib/remote/store_folders.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/limits.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

/// A store of these keys that lists a few entries a page.
struct Store {
  std::set<std::string> keys;
  std::size_t a_page = 1000;
  std::vector<std::string> asked = {};  ///< folders, with '*' behind those that are listed with all below them

  std::optional<ListPage> list(const std::string& folder, ListDepth depth, const std::string& from) {
    asked.push_back(folder + (depth == ListDepth::below ? "*" : ""));
    const std::string prefix = folder.substr(std::string("s3://b").size()) + "/";
    std::set<std::string> entries;
    for (const std::string& key : keys) {
      if (!("/" + key).starts_with(prefix)) continue;
      const std::string rest = key.substr(prefix.size() - 1);
      const std::size_t slash = depth == ListDepth::level ? rest.find('/') : rest.npos;
      entries.insert(rest.substr(0, slash == rest.npos ? slash : slash + 1));
    }
    ListPage page;
    for (auto at = from.empty() ? entries.begin() : entries.upper_bound(from); at != entries.end(); ++at) {
      if (page.objects.size() + page.folders.size() == a_page) return page;
      if (at->ends_with('/')) page.folders.push_back(*at);
      if (!at->ends_with('/')) page.objects.push_back({*at, 1, "t"});
      page.next = std::next(at) == entries.end() ? "" : *at;
    }
    return page;
  }

  StoreFolders folders() {
    return StoreFolders([this](const std::string& folder, ListDepth depth, const std::string& from) {
      return list(folder, depth, from);
    });
  }
};

/// "a b/": sorted, folders with a slash.
std::string shown(const std::optional<std::vector<FileEntry>>& entries) {
  if (!entries) return "not listed";
  std::vector<std::string> names;
  for (const FileEntry& entry : *entries) names.push_back(entry.name + (entry.type == FileType::folder ? "/" : ""));
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace

TEST_CASE("what is below a folder is listed once, and told of every path below it") {
  Store store{{"run/a.pt", "run/a.pt.txt", "run/a/x", "run/a/y/z", "run/b", "runs/c"}};
  const StoreFolders folders = store.folders();
  CHECK_FALSE(folders.type("s3://b/run").has_value());
  CHECK(shown(folders.list("s3://b/run")) == "a.pt a.pt.txt a/ b");
  CHECK(shown(folders.list("s3://b/run/a")) == "x y/");
  CHECK(shown(folders.list("s3://b/run/a/y")) == "z");
  CHECK(folders.type("s3://b/run") == FileType::folder);
  CHECK(folders.type("s3://b/run/a.pt") == FileType::file);
  CHECK(folders.type("s3://b/run/a/y") == FileType::folder);
  CHECK(folders.type("s3://b/run/a/y/z") == FileType::file);
  CHECK(folders.type("s3://b/run/a/y/zz") == FileType::absent);
  CHECK_FALSE(folders.type("s3://b/runs/c").has_value());
  CHECK(store.asked == std::vector<std::string>{"s3://b/run*"});
}

TEST_CASE("a folder with more below it than a few pages hold is listed level by level") {
  Store store{{}, 10};
  for (int step = 0; step < 30; ++step) {
    for (int rank = 0; rank < 4; ++rank) store.keys.insert(fmt::format("run/step{}/rank{}.pt", step, rank));
  }
  const StoreFolders folders = store.folders();
  CHECK(folders.list("s3://b/run").value().size() == 30);
  CHECK(folders.type("s3://b/run/step7") == FileType::folder);
  CHECK(folders.type("s3://b/run/step70") == FileType::absent);
  CHECK_FALSE(folders.type("s3://b/run/step7/rank0.pt").has_value());
  CHECK(store.asked.size() == 4 + 3);
  CHECK(shown(folders.list("s3://b/run/step7")) == "rank0.pt rank1.pt rank2.pt rank3.pt");
  CHECK(folders.type("s3://b/run/step7/rank0.pt") == FileType::file);
  CHECK(folders.type("s3://b/run/step7/rank9.pt") == FileType::absent);
  CHECK(store.asked.size() == 4 + 3 + 1);
}

TEST_CASE(
    "where nothing is in a folder an object may have its name, and one that a store makes an object of is there") {
  Store store{{"run/"}};
  const StoreFolders folders = store.folders();
  CHECK(shown(folders.list("s3://b/none")).empty());
  CHECK_FALSE(folders.type("s3://b/none"));
  CHECK(shown(folders.list("s3://b/run")).empty());
  CHECK(folders.type("s3://b/run") == FileType::folder);
}

TEST_CASE("an object whose key is no path is left out") {
  Store store{{"run/../x", "run//y", "run/./z", "run/a/..", "run/w"}};
  const StoreFolders folders = store.folders();
  CHECK(shown(folders.list("s3://b/run")) == "w");
}

TEST_CASE("a store without lists is asked once for what lies in a folder") {
  int asked = 0;
  const StoreFolders folders([&](const std::string&, ListDepth, const std::string&) -> std::optional<ListPage> {
    ++asked;
    return std::nullopt;
  });
  CHECK_FALSE(folders.list("s3://b/run").has_value());
  CHECK_FALSE(folders.list("s3://b/run").has_value());
  CHECK_FALSE(folders.type("s3://b/run").has_value());
  CHECK_FALSE(folders.list("s3://b/run/rank0").has_value());
  CHECK(asked == 1);
  CHECK_FALSE(folders.list("s3://b/runs").has_value());
  CHECK(asked == 2);
}

TEST_CASE("a listing without end is cut where a checkpoint has too many files") {
  std::size_t number = 0;
  const StoreFolders folders([&](const std::string&, ListDepth, const std::string&) {
    ListPage page{{}, {}, "more"};
    for (int i = 0; i < 1000; ++i) page.objects.push_back({fmt::format("{}", number++), 1});
    return std::optional(page);
  });
  CHECK(folders.list("s3://b/run").value().size() > limits::max_files);
}

TEST_CASE("a listing with a name that no path leads to does not tell all, and one with markers of folders does") {
  Store odd{{"run/a.pt", "run/step1/b.pt", "run/step1/../c.pt"}};
  CHECK_FALSE(odd.folders().lists_all("s3://b/run"));
  CHECK_FALSE(odd.folders().lists_all("s3://b/run/step1"));
  Store plain{{"run/a.pt", "run/step1/b.pt", "other//c.pt"}};
  CHECK(plain.folders().lists_all("s3://b/run"));
  const StoreFolders marked([](const std::string&, ListDepth, const std::string&) {
    return ListPage{{{"", 0}, {"step1/", 0}, {"step1/a.pt", 1}}, {}, ""};
  });
  CHECK(marked.lists_all("s3://b/run"));
  const StoreFolders silent([](const std::string&, ListDepth, const std::string&) { return std::nullopt; });
  CHECK_FALSE(silent.lists_all("s3://b/run"));
}

TEST_CASE("tags are told of a folder that one answer tells whole, of however many the list has") {
  Store store{{"a/1", "a/2", "b/1", "b/2", "c/1"}, 3};
  const StoreFolders folders = store.folders();
  folders.list("s3://b");
  CHECK(folders.tag("s3://b/a", "s3://b/a/2") == "t");
  CHECK(folders.tag("s3://b/b", "s3://b/b/1") == "t");
  CHECK(folders.tag("s3://b/b", "s3://b/b/2").empty());
  CHECK(folders.tag("s3://b/c", "s3://b/c/1") == "t");
  CHECK(folders.tag("s3://b", "s3://b/a/1") == "t");
  CHECK(folders.tag("s3://b", "s3://b/c/1").empty());
  CHECK(folders.tag("s3://b/c", "s3://b/c/2").empty());
}

TEST_CASE("a list whose answers come in no order tells no tags of a folder") {
  const StoreFolders folders([](const std::string&, ListDepth, const std::string& from) {
    ListPage page;
    page.objects.push_back({from.empty() ? "b/1" : "a/1", 1, "t"});
    page.next = from.empty() ? "x" : "";
    return page;
  });
  folders.list("s3://b");
  CHECK(folders.size("s3://b/a/1") == 1);
  CHECK(folders.tag("s3://b/b", "s3://b/b/1").empty());
  CHECK(folders.tag("s3://b/a", "s3://b/a/1").empty());
}
