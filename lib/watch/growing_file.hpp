// A regular file that somebody else writes: it stays open, so that it can be read to its end under whatever name it
// has.
#pragma once

#include <string>

#include "lib/base/source.hpp"

namespace tare {

class GrowingFile final : public Source {
 public:
  /// Throws `not_found` or `io` where there is no regular file that can be read.
  explicit GrowingFile(std::string path);
  ~GrowingFile() override;
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Asks for its size anew.
  void refresh();
  /// As it was asked for last.
  [[nodiscard]] const struct stat& status() const { return status_; }

  [[nodiscard]] std::uint64_t size() const override { return static_cast<std::uint64_t>(status_.st_size); }
  [[nodiscard]] const std::string& name() const override { return path_; }
  /// Throws `corrupt` where the file is shorter by now.
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

 private:
  std::string path_;
  int descriptor_;
  struct stat status_ {};
};

}  // namespace tare
