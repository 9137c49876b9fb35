// Zip archives for tests: laid out as torch's writer does, or wrong in one chosen way.
#pragma once

#include <memory>
#include <string_view>

#include "tests/unit/container/sparse_image.hpp"

namespace tare::test {

class ArchiveWriter {
 public:
  struct Options {
    bool has_crc = true;
    bool is_deflated = false;
    bool has_descriptor = true;
  };

  /// A stored record; a data descriptor behind it, as torch writes them.
  void add(std::string_view name, ByteView content) { add(name, content, Options()); }
  void add(std::string_view name, ByteView content, Options options);
  /// A stored record of zero bytes that takes no memory. Its CRC is left out (0).
  void add_hole(std::string_view name, std::uint64_t size);
  /// The directory and the end records. Nothing can be added after it.
  void finish(std::string_view comment = {});

  /// REQUIRES: finish.
  [[nodiscard]] std::shared_ptr<SparseImage> image() const { return image_; }
  [[nodiscard]] Bytes bytes() const { return image_->read({0, image_->size()}); }

 private:
  struct Row {
    std::string_view name;
    std::uint64_t header, stored_size, size;
    std::uint32_t crc;
    Options options;
  };
  void add_local_header(const Row& row);
  void add_descriptor(const Row& row);

  std::shared_ptr<SparseImage> image_ = std::make_shared<SparseImage>();
  Bytes directory_;
  std::uint64_t count_ = 0;
};

/// `archive/data.pkl`, `archive/byteorder` and `archive/version`.
Bytes torch_archive(ByteView pickle);

}  // namespace tare::test
