// What lies below a folder, where the file system does not let all of it be seen.
#include "lib/attest/file_tree.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "lib/base/distant_files.hpp"
#include "tests/places.hpp"
#include "tests/unit/attest/told.hpp"

using namespace tare;
using namespace tare::test;

namespace {

namespace fs = std::filesystem;

/// Folders of which one cannot be listed.
class ShutFiles final : public Files {
 public:
  explicit ShutFiles(std::string shut) : shut_(std::move(shut)) {}
  [[nodiscard]] FileType type(const std::string& path) const override {
    return folders_.contains(path) ? FileType::folder : FileType::file;
  }
  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
    if (folder == shut_) throw Error(Status::io, folder + ": permission denied");
    return folders_.at(folder);
  }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
    return std::make_shared<MemorySource>(path, Bytes());
  }

 private:
  std::string shut_;
  std::map<std::string, std::vector<FileEntry>> folders_ = {
      {"run", {{"a.pt", FileType::file}, {"hidden", FileType::folder}, {"more", FileType::folder}}},
      {"run/hidden", {{"b.pt", FileType::file}}},
      {"run/more", {{"c.pt", FileType::file}, {"deep", FileType::folder}}},
      {"run/more/deep", {{"d.pt", FileType::file}}}};
};

/// This machine's files as a server would have them, which may hold back that a folder has more.
class ServedFiles final : public DistantFiles {
 public:
  [[nodiscard]] FileType type(const std::string& path) const override { return local_files().type(path); }
  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
    return local_files().list(folder);
  }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
    const std::lock_guard lock(turn_);
    ++opened[path];
    return local_files().open(path);
  }
  [[nodiscard]] std::size_t most_at_once() const override { return 8; }
  [[nodiscard]] bool lists_all(const std::string&) const override { return tells_all; }

  bool tells_all = true;
  mutable std::map<std::string, int> opened;

 private:
  mutable std::mutex turn_;
};

}  // namespace

TEST_CASE("a folder that cannot be listed is told, and what lies beside it is found") {
  const FileTree tree = files_below(ShutFiles("run/hidden"), "run");
  CHECK(tree.files == std::vector<std::string>{"a.pt", "more/c.pt", "more/deep/d.pt"});
  REQUIRE(tree.others.size() == 1);
  CHECK(tree.others[0].path == "hidden");
  CHECK(tree.others[0].why == "run/hidden: permission denied");
}

TEST_CASE("attest tells what is wrong with a file beside its name, and does not name it again") {
  Checkpoint checkpoint;
  checkpoint.target = checkpoint.resolved = "run";
  const Attestation shut = attest(checkpoint, newest_torch_release(), AttestScope::everything, ShutFiles("run/hidden"));
  const auto is_hidden = [&](const Unread& unread) { return shut.files[unread.place.file].path == "hidden"; };
  const auto hidden = std::ranges::find_if(shut.unread, is_hidden);
  REQUIRE(hidden != shut.unread.end());
  CHECK(hidden->why == "permission denied");

  const fs::path folder = fs::temp_directory_path() / ("tare - a run " + std::to_string(::getpid()));
  fs::create_directories(folder / "my step");
  std::ofstream(folder / "my step" / "my scaler.pt") << "\x80\x02}q";
  const Attestation broken = attest(opened(folder.string()), newest_torch_release(), AttestScope::everything);
  fs::remove_all(folder);
  REQUIRE(broken.unread.size() == 1);
  CHECK(broken.files[broken.unread[0].place.file].path == "my step/my scaler.pt");
  CHECK(broken.unread[0].why.find("my scaler.pt") == std::string::npos);
}

TEST_CASE("of a folder that cannot be listed itself nothing is said") {
  CHECK_THROWS_WITH(files_below(ShutFiles("run"), "run"), Catch::Contains("permission denied"));
  CHECK(files_in(ShutFiles("run/hidden"), "run").files == std::vector<std::string>{"a.pt"});
}

TEST_CASE("a file that is gone before it is read is told, and the checkpoint is not plain data") {
  const fs::path path = fs::temp_directory_path() / ("tare-gone-" + std::to_string(::getpid()) + ".pt");
  fs::copy_file(TARE_TEST_DATA "/corpus/torch/scaler-file-t2.6/scaler.pt", path, fs::copy_options::overwrite_existing);
  const Checkpoint checkpoint = opened(path.string());
  REQUIRE(attest(checkpoint, newest_torch_release()).is_plain());
  fs::remove(path);
  const Attestation found = attest(checkpoint, newest_torch_release());
  CHECK(!found.is_plain());
  REQUIRE(found.unread.size() == 1);
  CHECK(found.files.at(found.unread[0].place.file).path == path.filename());
  CHECK(says(found.unread[0].why, "No such file"));
}

TEST_CASE("of a server each file is asked for once, and a folder of which it may not list all is refused") {
  const std::string folder = TARE_TEST_DATA "/corpus/torch/rank-files-t2.15/step100";
  ServedFiles files;
  const Checkpoint checkpoint = open_checkpoint(folder, {.files = &files});
  files.opened.clear();
  const Attestation found = attest(checkpoint, newest_torch_release(), AttestScope::checkpoint, files);
  CHECK(found.is_plain());
  CHECK(files.opened.size() == found.files.size());
  for (const auto& [path, times] : files.opened) {
    INFO(path);
    CHECK(times == 1);
  }
  files.tells_all = false;
  CHECK_THROWS_WITH(attest(checkpoint, newest_torch_release(), AttestScope::checkpoint, files),
                    Catch::Contains("the server does not list all of this folder"));
}

TEST_CASE("the root of a store is attested as the folder that it is") {
  class RootFiles final : public Files {
   public:
    [[nodiscard]] FileType type(const std::string& path) const override {
      return path.find_first_not_of('/') == std::string::npos && !path.empty() ? FileType::folder : FileType::file;
    }
    [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
      if (folder.empty()) throw Error(Status::io, "no name is no folder");
      return {{"config.json", FileType::file}};
    }
    [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
      const std::string_view text = "{}";
      return std::make_shared<MemorySource>(path, Bytes(as_bytes(text).begin(), as_bytes(text).end()));
    }
  } files;
  for (const char* root : {"/", "//"}) {
    Checkpoint checkpoint;
    checkpoint.target = checkpoint.resolved = root;
    const Attestation found = attest(checkpoint, newest_torch_release(), AttestScope::everything, files);
    CHECK(found.is_plain());
    REQUIRE(found.files.size() == 1);
    CHECK(found.files[0].path == "config.json");
  }
}
