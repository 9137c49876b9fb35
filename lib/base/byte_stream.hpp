// Bytes that come one after the other: a file from its front, a pipe, what something compressed unpacks to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lib/base/source.hpp"

namespace tare {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// The next bytes, as many as there are at once; 0: there are no more. Throws `io`.
  virtual std::size_t read(std::span<std::byte> to) = 0;
  /// Why it ended before its end, after read() gave 0; empty where it did not.
  [[nodiscard]] virtual std::string problem() const { return {}; }
};

/// A source from its front to its end.
class SourceStream final : public ByteStream {
 public:
  explicit SourceStream(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  std::size_t read(std::span<std::byte> to) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), source_->size() - at_));
    source_->read(at_, to.first(wanted));
    at_ += wanted;
    return wanted;
  }

 private:
  std::shared_ptr<const Source> source_;
  std::uint64_t at_ = 0;
};

}  // namespace tare
