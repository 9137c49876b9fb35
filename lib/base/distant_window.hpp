// A part of a distant source, which is as distant.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/distant_source.hpp"

namespace tare {

class DistantWindow final : public DistantSource {
 public:
  /// Throws `corrupt` where `window` passes the end of `whole`.
  DistantWindow(std::shared_ptr<const Source> whole, Span window, std::string name);

  [[nodiscard]] std::uint64_t size() const override { return part_.size(); }
  [[nodiscard]] const std::string& name() const override { return part_.name(); }
  [[nodiscard]] const std::string& version() const override;
  void read(std::uint64_t offset, std::span<std::byte> to) const override { part_.read(offset, to); }
  using Source::read;
  void fetch_ahead(std::vector<Span> ranges) const override;

 private:
  std::shared_ptr<const Source> whole_;
  Span window_;
  WindowSource part_;
};

/// A window of `whole`, which can fetch ahead where that can.
std::shared_ptr<const Source> window_of(std::shared_ptr<const Source> whole, Span window, std::string name);

}  // namespace tare
