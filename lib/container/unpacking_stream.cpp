#include "lib/container/unpacking_stream.hpp"

#include <zlib.h>
#include <zstd.h>

#include <new>
#include <vector>

namespace tare {

namespace {

constexpr std::size_t piece_bytes = std::size_t{128} << 10;

bool starts_with(ByteView head, std::string_view magic) {
  return head.size() >= magic.size() && as_text(head.first(magic.size())) == magic;
}

bool is_zstd(ByteView head) {
  return starts_with(head, "\x28\xb5\x2f\xfd");
}

/// Packed bytes a piece at a time.
class Pieces {
 public:
  explicit Pieces(std::unique_ptr<ByteStream> packed) : packed_(std::move(packed)), piece_(piece_bytes) {}

  /// False at the end. REQUIRES: all of the piece before is used.
  bool next() {
    size_ = packed_->read(piece_);
    return size_ > 0;
  }
  [[nodiscard]] std::byte* data() { return piece_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unique_ptr<ByteStream> packed_;
  std::vector<std::byte> piece_;
  std::size_t size_ = 0;
};

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(std::unique_ptr<ByteStream> packed) : pieces_(std::move(packed)) {
    constexpr int gzip_window = 15 + 16;
    if (inflateInit2(&inflate_, gzip_window) != Z_OK) throw std::bad_alloc();
  }
  ~GzipStream() override { inflateEnd(&inflate_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(std::span<std::byte> to) override {
    inflate_.next_out = reinterpret_cast<Bytef*>(to.data());
    inflate_.avail_out = static_cast<uInt>(to.size());
    while (inflate_.avail_out == to.size() && !is_over_) step();
    return to.size() - inflate_.avail_out;
  }
  [[nodiscard]] std::string problem() const override { return problem_; }

 private:
  void end(std::string why) {
    is_over_ = true;
    problem_ = std::move(why);
  }

  void step() {
    if (inflate_.avail_in == 0) {
      if (!pieces_.next()) return end(is_inside_ ? "its gzip data break off" : "");
      inflate_.next_in = reinterpret_cast<Bytef*>(pieces_.data());
      inflate_.avail_in = static_cast<uInt>(pieces_.size());
    }
    is_inside_ = true;
    const int status = inflate(&inflate_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      is_inside_ = false;
      inflateReset(&inflate_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      end("its gzip data are damaged");
    }
  }

  Pieces pieces_;
  z_stream inflate_{};
  bool is_inside_ = false, is_over_ = false;
  std::string problem_;
};

class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(std::unique_ptr<ByteStream> packed) : pieces_(std::move(packed)), context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    constexpr int most_window_log = 25;  // 32 MiB: what `zstd -19` asks for is 8
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, most_window_log);
  }
  ~ZstdStream() override { ZSTD_freeDCtx(context_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  std::size_t read(std::span<std::byte> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos == 0 && !is_over_) step(out);
    return out.pos;
  }
  [[nodiscard]] std::string problem() const override { return problem_; }

 private:
  void end(std::string why) {
    is_over_ = true;
    problem_ = std::move(why);
  }

  void step(ZSTD_outBuffer& out) {
    if (in_.pos == in_.size && !may_hold_more_) {
      if (!pieces_.next()) return end(is_inside_ ? "its Zstandard data break off" : "");
      in_ = {pieces_.data(), pieces_.size(), 0};
    }
    const std::size_t left = ZSTD_decompressStream(context_, &out, &in_);
    if (ZSTD_isError(left) != 0)
      return end(std::string("its Zstandard data do not unpack: ") + ZSTD_getErrorName(left));
    is_inside_ = left != 0;
    may_hold_more_ = is_inside_ && out.pos == out.size;
  }

  Pieces pieces_;
  ZSTD_DCtx* context_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool may_hold_more_ = false, is_inside_ = false, is_over_ = false;
  std::string problem_;
};

}  // namespace

bool starts_like_packed_stream(ByteView head) {
  return starts_with(head, "\x1f\x8b\x08") || is_zstd(head);
}

std::unique_ptr<ByteStream> unpacking_stream(std::unique_ptr<ByteStream> packed, ByteView head) {
  if (is_zstd(head)) return std::make_unique<ZstdStream>(std::move(packed));
  return std::make_unique<GzipStream>(std::move(packed));
}

}  // namespace tare
