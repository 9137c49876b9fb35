// A checkpoint that the caller reads for us: tare_source as Files.
#pragma once

#include <tare/tare.h>

#include "lib/base/files.hpp"

namespace tare::capi {

class CallerFiles final : public Files {
 public:
  /// Borrows what `source` points to. Throws `invalid_argument` where a function that is needed is missing.
  explicit CallerFiles(const tare_source& source);

  [[nodiscard]] FileType type(const std::string& path) const override;
  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override;
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override;
  [[nodiscard]] bool is_shareable() const override { return false; }

 private:
  tare_source source_;
};

}  // namespace tare::capi
