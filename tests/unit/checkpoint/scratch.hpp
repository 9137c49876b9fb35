// A folder of one test's own, gone when the test is done.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/places.hpp"

namespace tare {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tare-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
  }
  ~Scratch() { std::filesystem::remove_all(root_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string path(std::string_view relative = "") const {
    return relative.empty() ? root_.string() : (root_ / relative).string();
  }
  void write(std::string_view relative, std::string_view text) const {
    std::filesystem::create_directories((root_ / relative).parent_path());
    std::ofstream(root_ / relative, std::ios::binary) << text;
  }
  /// A copy of a file of the corpus; it can be written to.
  void copy(std::string_view corpus_file, std::string_view relative) const {
    namespace fs = std::filesystem;
    fs::create_directories((root_ / relative).parent_path());
    fs::copy_file(fs::path(TARE_TEST_DATA) / "corpus" / corpus_file, root_ / relative);
    fs::permissions(root_ / relative, fs::perms::owner_write, fs::perm_options::add);
  }
  void link(std::string_view to, std::string_view relative) const {
    std::filesystem::create_symlink(to, root_ / relative);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace tare
