// An object behind HTTP as a source: the blocks that were read stay, so that many small reads are few requests.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/distant_source.hpp"
#include "lib/remote/http_client.hpp"

namespace tare {

/// So much of an object is asked for at a time.
inline constexpr std::uint64_t usual_block_bytes = std::uint64_t{64} << 10;

/// What the first request tells of an object.
struct ObjectStart {
  HttpObject object;
  Bytes begin;  ///< its first bytes; may be none
  std::uint64_t size = 0;
  std::optional<std::string> version;  ///< nothing where none was made yet: the first read tells
  std::uint64_t block_bytes = usual_block_bytes;
  bool only_grows = false;
};

/// Asks for the first `wanted` bytes. Throws what HttpClient::get throws.
ObjectStart start_of(const HttpClient& client, HttpObject object, std::uint64_t wanted = usual_block_bytes);

class HttpSource final : public DistantSource {
 public:
  HttpSource(std::shared_ptr<const HttpClient> client, const ObjectStart& start);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return object_.name; }
  [[nodiscard]] const std::string& version() const override;
  [[nodiscard]] bool only_grows() const override { return only_grows_; }
  /// One request at most. Throws `io` where the object has changed since the first.
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  void fetch_ahead(std::vector<Span> ranges) const override;
  using Source::read;

 private:
  static constexpr std::size_t most_blocks = 64;

  [[nodiscard]] bool copy_kept(std::uint64_t offset, std::span<std::byte> to) const;
  Bytes require_same(HttpRange found, Span range) const;
  void fetch_missing(std::uint64_t first, std::uint64_t end) const;
  Bytes fetch(Span range) const;

  std::shared_ptr<const HttpClient> client_;
  mutable std::mutex mutex_;
  mutable HttpObject object_;
  Bytes begin_;
  mutable std::map<std::uint64_t, Bytes> blocks_;  ///< by number
  mutable std::map<std::uint64_t, Bytes> ahead_;   ///< by offset
  mutable std::uint64_t ahead_bytes_ = 0;
  std::uint64_t size_;
  std::uint64_t block_bytes_;
  bool only_grows_;
  mutable std::optional<std::string> version_;
};

}  // namespace tare
