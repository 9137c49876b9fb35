// A file of a run, opened: unpacked if it is packed, its first bytes to be looked at before it is read.
#pragma once

#include <memory>
#include <string>

#include "lib/base/byte_stream.hpp"
#include "lib/base/bytes.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

class Input final : public ByteStream {
 public:
  static constexpr std::size_t head_bytes = std::size_t{64} << 10;

  /// Throws `io` or `not_found` where it cannot be opened.
  Input(std::string path, const TraceOptions& options);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] ByteView head() const { return head_; }

  std::size_t read(std::span<std::byte> to) override;
  [[nodiscard]] std::string problem() const override { return rest_->problem(); }

 private:
  std::string path_;
  std::unique_ptr<ByteStream> rest_;
  Bytes head_;
  std::size_t at_ = 0;  ///< of the head: what read() has given
};

/// The first bytes of a stream, `most` at most.
Bytes first_bytes(ByteStream& stream, std::size_t most);

}  // namespace tare
