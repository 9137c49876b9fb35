// A checkpoint of several files out of a fuzzer's bytes: the file that it is opened by, and one image that is there
// under every other name.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"
#include "tests/unit/container/image.hpp"

namespace tare {

class TwoFiles final : public SourceFolder {
 public:
  TwoFiles(std::string first_name, Bytes first, Bytes other)
      : first_name_(std::move(first_name)), first_(std::move(first)), other_(std::move(other)) {}

  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& name) const override {
    return std::make_shared<MemorySource>(name, name == first_name_ ? first_ : other_);
  }
  [[nodiscard]] bool has(const std::string&) const override { return true; }
  void apply(const std::vector<PartChange>& changes) {
    for (const PartChange& change : changes) {
      Bytes& image = change.part == 0 ? first_ : other_;
      image = test::applied(image, change.change);
    }
  }

 private:
  std::string first_name_;
  Bytes first_;
  Bytes other_;
};

}  // namespace tare
