// A folder of its own for one test, gone at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>

namespace tare::test {

class Scratch {
 public:
  Scratch() : folder_((std::filesystem::temp_directory_path() / "tare-capi-XXXXXX").string()) {
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder can be made at " + folder_);
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& folder() const { return folder_; }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) all.insert(entry.path().filename().string());
    return all;
  }

 private:
  std::string folder_;
};

}  // namespace tare::test
