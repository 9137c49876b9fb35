// The files of a checkpoint of several, in memory: opened, changed and opened again.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/container/source_folder.hpp"
#include "tests/unit/container/image.hpp"

namespace tare::test {

class MemoryFolder final : public SourceFolder {
 public:
  /// All files of a folder of the corpus, with those of the folders in it.
  static std::shared_ptr<MemoryFolder> of_corpus(std::string_view folder) {
    auto made = std::make_shared<MemoryFolder>();
    const std::filesystem::path root = corpus_path(folder);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().lexically_relative(root).string();
      made->images[name] = corpus_bytes(std::string(folder) + "/" + name);
    }
    return made;
  }

  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& name) const override {
    const auto found = images.find(name);
    if (found == images.end()) throw Error(Status::io, name + ": no such file");
    opened.insert(name);
    return std::make_shared<MemorySource>(name, found->second);
  }
  [[nodiscard]] bool has(const std::string& name) const override { return images.contains(name); }
  [[nodiscard]] std::vector<std::string> folders() const override {
    std::set<std::string> names;
    for (const auto& [name, image] : images) {
      if (const std::size_t slash = name.find('/'); slash != name.npos) names.insert(name.substr(0, slash));
    }
    return {names.begin(), names.end()};
  }
  void apply(const Container& container, const std::vector<PartChange>& changes) {
    for (const PartChange& change : changes) {
      Bytes& image = images.at(container.parts()[change.part]);
      image = applied(image, change.change);
    }
  }

  std::map<std::string, Bytes> images;
  mutable std::set<std::string> opened;
};

}  // namespace tare::test
