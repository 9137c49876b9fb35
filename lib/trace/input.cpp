#include "lib/trace/input.hpp"

#include <algorithm>

#include "lib/container/unpacking_stream.hpp"
#include "lib/trace/utf16_stream.hpp"

namespace tare {

namespace {

/// What was looked at, and then the rest.
class Rejoined final : public ByteStream {
 public:
  Rejoined(Bytes head, std::unique_ptr<ByteStream> rest) : head_(std::move(head)), rest_(std::move(rest)) {}

  std::size_t read(std::span<std::byte> to) override {
    if (at_ == head_.size()) return rest_->read(to);
    const std::size_t size = std::min(to.size(), head_.size() - at_);
    std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(at_), size, to.begin());
    at_ += size;
    return size;
  }

 private:
  Bytes head_;
  std::unique_ptr<ByteStream> rest_;
  std::size_t at_ = 0;
};

std::unique_ptr<ByteStream> opened(const std::string& path, const TraceOptions& options) {
  if (path == "-" && options.standard_input) return options.standard_input();
  return std::make_unique<SourceStream>(options.files->open(path));
}

}  // namespace

Bytes first_bytes(ByteStream& stream, std::size_t most) {
  Bytes head(most);
  std::size_t size = 0;
  while (size < most) {
    const std::size_t more = stream.read(std::span(head).subspan(size));
    if (more == 0) break;
    size += more;
  }
  head.resize(size);
  return head;
}

Input::Input(std::string path, const TraceOptions& options) : path_(std::move(path)), rest_(opened(path_, options)) {
  head_ = first_bytes(*rest_, head_bytes);
  if (starts_like_packed_stream(head_)) {
    rest_ = unpacking_stream(std::make_unique<Rejoined>(head_, std::move(rest_)), head_);
    head_ = first_bytes(*rest_, head_bytes);
  }
  if (starts_like_utf16(head_)) {
    rest_ = utf8_stream(std::make_unique<Rejoined>(head_, std::move(rest_)), head_);
    head_ = first_bytes(*rest_, head_bytes);
  }
}

Input::Input(std::string path, std::shared_ptr<const Source> source, const Slice& slice)
    : path_(std::move(path)), slice_(slice) {
  SourceStream front(source);
  head_ = first_bytes(front, head_bytes);
  at_ = head_.size();
  const Span window{slice.begin, slice.end - slice.begin};
  rest_ = std::make_unique<SourceStream>(std::make_shared<WindowSource>(std::move(source), window, path_));
}

std::size_t Input::read(std::span<std::byte> to) {
  if (at_ == head_.size()) return rest_->read(to);
  const std::size_t size = std::min(to.size(), head_.size() - at_);
  std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(at_), size, to.begin());
  at_ += size;
  if (at_ == head_.size()) {
    head_ = {};
    at_ = 0;
  }
  return size;
}

}  // namespace tare
