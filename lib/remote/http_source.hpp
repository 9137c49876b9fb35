// An object behind HTTP as a source: what was read stays, and readers that go on near it get more and more at a time.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/distant_source.hpp"
#include "lib/remote/http_client.hpp"
#include "lib/remote/kept_ranges.hpp"

namespace tare {

/// An object of so many bytes or fewer is asked for whole: a second request would cost more than they do.
inline constexpr std::uint64_t small_object_bytes = std::uint64_t{64} << 10;

/// What the first request tells of an object.
struct ObjectStart {
  HttpObject object;
  Bytes begin;  ///< its first bytes; may be none
  std::uint64_t size = 0;
  std::optional<std::string> version;  ///< nothing where none was made yet: the first read tells
  bool only_grows = false;
};

/// Asks for the first `wanted` bytes; a server without ranges may send a small object whole. Throws what
/// HttpClient::get throws.
ObjectStart start_of(const HttpClient& client, HttpObject object, std::uint64_t wanted);

class HttpSource final : public DistantSource {
 public:
  HttpSource(std::shared_ptr<const HttpClient> client, const ObjectStart& start);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] const std::string& name() const override { return object_.name; }
  [[nodiscard]] const std::string& version() const override;
  [[nodiscard]] bool only_grows() const override { return only_grows_; }
  /// One request at most, of little more than what is wanted. Throws `io` where the object has changed since the first.
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  void fetch_ahead(std::vector<Span> ranges) const override;
  using Source::read;

 private:
  /// What is asked for where `missing` is left of so many bytes that are wanted: under the mutex.
  [[nodiscard]] Span window_around(Span missing, std::uint64_t wanted_in_all) const;
  Bytes require_same(HttpRange found, Span range) const;
  Bytes fetch(Span range) const;

  std::shared_ptr<const HttpClient> client_;
  mutable std::mutex mutex_;
  mutable HttpObject object_;
  mutable KeptRanges kept_;
  mutable std::uint64_t ahead_bytes_ = 0;
  mutable std::uint64_t window_bytes_ = 0;  ///< what the last small read brought
  std::uint64_t size_;
  bool only_grows_;
  mutable std::optional<std::string> version_;
};

}  // namespace tare
