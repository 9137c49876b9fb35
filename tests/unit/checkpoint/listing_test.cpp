// Which files of a folder are worth opening, and what is told of the others.
#include "lib/checkpoint/listing.hpp"

#include <map>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

/// Folders in memory; one without a list cannot be read.
class MadeFolders final : public Files {
 public:
  /// A path: the folders on the way are made. One that ends with "/" is a folder.
  void add(const std::string& path, FileType type = FileType::file) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      put(path.substr(0, slash), FileType::folder);
    }
    if (!path.ends_with('/')) put(path, type);
  }
  void lock(const std::string& folder) { locked_ = folder; }
  void lead_out(const std::string& link) { outside_ = link; }

  [[nodiscard]] FileType type(const std::string& path) const override {
    const auto known = types_.find(path);
    return known == types_.end() ? FileType::absent : known->second;
  }
  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
    if (folder == locked_) throw Error(Status::io, folder + ": Permission denied");
    const auto known = entries_.find(folder);
    return known == entries_.end() ? std::vector<FileEntry>() : known->second;
  }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
    throw Error(Status::io, path + ": is not opened here");
  }
  [[nodiscard]] bool is_inside(const std::string& path, const std::string&) const override { return path != outside_; }

 private:
  void put(const std::string& path, FileType type) {
    if (!types_.try_emplace(path, type).second) return;
    const std::size_t slash = path.rfind('/');
    entries_[path.substr(0, slash)].push_back({path.substr(slash + 1), type});
  }

  std::map<std::string, FileType> types_;
  std::map<std::string, std::vector<FileEntry>> entries_;
  std::string locked_, outside_;
};

using Paths = std::vector<std::string>;

struct Listed {
  Listing listing;
  std::vector<Finding> findings;
};

Listed listed(const MadeFolders& files) {
  Listed made;
  made.listing = list_files(files, "/run", made.findings);
  return made;
}

MadeFolders folders(const Paths& paths) {
  MadeFolders files;
  for (const std::string& path : paths) files.add("/run/" + path);
  return files;
}

}  // namespace

TEST_CASE("a folder inside that cannot be read is told, and one that was named is an error") {
  MadeFolders files = folders({"a.pt", "rank/b.pt", "z/c.pt"});
  files.lock("/run/rank");
  const Listed made = listed(files);
  CHECK(made.listing.files == Paths{"a.pt", "z/c.pt"});
  REQUIRE(made.findings.size() == 1);
  CHECK(made.findings[0].severity == Severity::error);
  CHECK(made.findings[0].code == "file-not-read");
  CHECK(made.findings[0].message == "/run/rank: Permission denied");
  CHECK(made.findings[0].file == "rank/");
  files.lock("/run");
  CHECK_THROWS_AS(listed(files), Error);
}

TEST_CASE("files are listed in the order in which people count, three folders deep and no deeper, hidden ones never") {
  const Listed made =
      listed(folders({"r10.pt", "r9.pt", "a/b/c/d.pt", "a/b/c/e/f.pt", "a/x.pt", ".git/g.pt", ".hidden.pt"}));
  CHECK(made.listing.files == Paths{"a/b/c/d.pt", "a/x.pt", "r9.pt", "r10.pt"});
  CHECK(made.findings.empty());
}

TEST_CASE("weights, texts and files of no state are told apart from what is worth opening") {
  const Listed made =
      listed(folders({"model.safetensors", "a.pt", "config.json", "notes.txt", "loss.png", "x.log", "y.csv", "z.md",
                      "scaler_state.json", "common.json", "_CHECKPOINT_METADATA", "no_ending"}));
  CHECK(made.listing.files == Paths{"a.pt", "common.json", "no_ending", "scaler_state.json"});
  CHECK(made.listing.weights == Paths{"model.safetensors"});
  CHECK(made.listing.skipped.size() == 5);
  CHECK(made.listing.wholes.empty());
  CHECK(made.listing.unfinished == nullptr);
}

TEST_CASE("of a checkpoint of several files the one is listed by which it is opened, and its parts are not") {
  const Listed whole =
      listed(folders({".metadata", "__0_0.distcp", "__1_0.distcp", "step/.metadata", "step/__0_0.distcp"}));
  CHECK(whole.listing.wholes == Paths{".metadata", "step/.metadata"});
  CHECK(whole.listing.files.empty());
  CHECK(whole.listing.unfinished == nullptr);
  const Listed parts = listed(folders({"__0_0.distcp"}));
  CHECK(parts.listing.wholes.empty());
  REQUIRE(parts.listing.unfinished != nullptr);
  CHECK(parts.listing.unfinished->whole_is == ".metadata");
}

TEST_CASE("what belongs to an array, an Orbax item or a universal checkpoint is not gone through") {
  CHECK(listed(folders({"array/.zarray", "array/0.pt", "a.pt"})).listing.files == Paths{"a.pt"});
  CHECK(listed(folders({"manifest.ocdbt", "d/0.pt", "other.pt"})).listing.files.empty());
  const Listed universal = listed(folders({"zero/optimizer_state.pt", "zero/w/fp32.pt", "a.pt"}));
  CHECK(universal.listing.files == Paths{"a.pt", "zero/optimizer_state.pt"});
  const Listed other = listed(folders({"zero/w/fp32.pt"}));
  CHECK(other.listing.files == Paths{"zero/w/fp32.pt"});
}

TEST_CASE("a link that leads out is told, and one that stays inside is not") {
  MadeFolders files = folders({"a.pt"});
  files.add("/run/in.pt", FileType::link);
  files.add("/run/more/out.pt", FileType::link);
  files.lead_out("/run/more/out.pt");
  const Listed made = listed(files);
  CHECK(made.listing.files == Paths{"a.pt"});
  REQUIRE(made.findings.size() == 1);
  CHECK(made.findings[0].severity == Severity::warning);
  CHECK(made.findings[0].code == "link-not-followed");
  CHECK(made.findings[0].file == "more/out.pt");
  CHECK(made.listing.links == Paths{"more/out.pt"});
}

TEST_CASE("a folder of as many files as a checkpoint may have is listed, and one of more is refused") {
  MadeFolders files;
  files.add("/run/more/");
  for (std::size_t i = 0; i + 1 < limits::max_files; ++i) files.add("/run/more/" + std::to_string(i));
  CHECK(listed(files).listing.files.size() == limits::max_files - 1);
  files.add("/run/more/last");
  try {
    listed(files);
    FAIL("they were listed");
  } catch (const Error& error) {
    CHECK(error.status == Status::refused);
    CHECK(std::string(error.what()) == "/run: more than 131072 files");
  }
}
