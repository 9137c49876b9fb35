// A file of a run, opened: unpacked if it is packed, in UTF-8 if it is UTF-16, its first bytes to be looked at before
// it is read.
#pragma once

#include <memory>
#include <string>

#include "lib/base/byte_stream.hpp"
#include "lib/base/bytes.hpp"
#include "lib/trace/trace.hpp"

namespace tare {

/// A part of a file that grows: what was added since it was read last.
struct Slice {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t before = 0;  ///< lines, or records, in front of it
};

/// How much of a file that is being written is whole lines, or whole records.
struct WholePart {
  std::uint64_t end = 0;
  std::uint64_t count = 0;  ///< of lines or records
};

class Input final : public ByteStream {
 public:
  static constexpr std::size_t head_bytes = std::size_t{64} << 10;

  /// Throws `io` or `not_found` where it cannot be opened.
  Input(std::string path, const TraceOptions& options);
  /// A slice of a file that is neither packed nor UTF-16; its head is the file's.
  Input(std::string path, std::shared_ptr<const Source> source, const Slice& slice);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] ByteView head() const { return head_; }
  /// Of the whole file unless it is a slice.
  [[nodiscard]] const Slice& slice() const { return slice_; }

  std::size_t read(std::span<std::byte> to) override;
  [[nodiscard]] std::string problem() const override { return rest_->problem(); }

 private:
  std::string path_;
  std::unique_ptr<ByteStream> rest_;
  Bytes head_;
  std::size_t at_ = 0;  ///< of the head: what read() has given
  Slice slice_;
};

/// The first bytes of a stream, `most` at most.
Bytes first_bytes(ByteStream& stream, std::size_t most);

}  // namespace tare
