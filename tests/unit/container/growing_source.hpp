// An image in a store that changes nothing where it stands.
#pragma once

#include "lib/base/versioned_source.hpp"

namespace tare::test {

class GrowingSource final : public VersionedSource {
 public:
  explicit GrowingSource(const Bytes& bytes) : bytes_("image", bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return bytes_.name(); }
  [[nodiscard]] const std::string& version() const override { return bytes_.name(); }
  [[nodiscard]] bool only_grows() const override { return true; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override { bytes_.read(offset, to); }

 private:
  MemorySource bytes_;
};

}  // namespace tare::test
