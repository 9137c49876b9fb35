#include "lib/container/orbax/ocdbt_body.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/crc32c.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/varint.hpp"
#include "lib/container/zstd_frame.hpp"

namespace tare {
namespace {

// Magic number (big-endian), length of all (little-endian), version, compression; the body; CRC-32C of all before it.
constexpr std::size_t fixed_head = sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::uint64_t body_version = 0;
enum Compression : std::uint64_t { plain = 0, zstd = 1 };

constexpr std::size_t max_path_bytes = limits::max_zip_name_bytes;

Bytes big_endian(std::uint32_t number) {
  Bytes bytes;
  append_le(bytes, number);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

[[noreturn]] void fail_at(const std::string& name, const std::string& problem) {
  throw Error(Status::corrupt, fmt::format("{}: OCDBT: {}", name, problem), "the file is damaged; take another copy");
}

}  // namespace

Bytes ocdbt_body(ByteView envelope, std::uint32_t magic, std::uint64_t most, const std::string& name, Budget& budget) {
  if (envelope.size() < fixed_head + crc32c_size) fail_at(name, "too short");
  if (Bytes(envelope.begin(), envelope.begin() + sizeof magic) != big_endian(magic)) {
    fail_at(name, fmt::format("does not begin with {:08x}", magic));
  }
  if (load_le<std::uint64_t>(envelope.data() + sizeof magic) != envelope.size()) {
    fail_at(name, fmt::format("{} bytes are not as many as its head says", envelope.size()));
  }
  const ByteView covered = envelope.first(envelope.size() - crc32c_size);
  if (load_le<std::uint32_t>(covered.data() + covered.size()) != crc32c(covered)) fail_at(name, "its CRC-32C is wrong");
  ByteView rest = covered.subspan(fixed_head);
  const auto its_version = take_varint(rest);
  const auto compression = take_varint(rest);
  if (!its_version || !compression) fail_at(name, "too short");
  if (*its_version != body_version || *compression > Compression::zstd) {
    throw Error(Status::unsupported, fmt::format("{}: OCDBT version {}, compression {}, which tare does not know", name,
                                                 *its_version, *compression));
  }
  if (*compression == Compression::zstd) return zstd_content(rest, most, name, &budget);
  if (rest.size() > most) fail_at(name, "holds more than it may");
  return {rest.begin(), rest.end()};
}

Bytes ocdbt_envelope(std::uint32_t magic, ByteView body, std::optional<int> level) {
  Bytes rest;
  append_varint(rest, body_version);
  append_varint(rest, level ? Compression::zstd : Compression::plain);
  const Bytes content = level ? zstd_frame(body, *level) : Bytes(body.begin(), body.end());
  rest.insert(rest.end(), content.begin(), content.end());
  Bytes envelope = big_endian(magic);
  append_le(envelope, std::uint64_t{fixed_head + rest.size() + crc32c_size});
  envelope.insert(envelope.end(), rest.begin(), rest.end());
  append_le(envelope, crc32c(envelope));
  return envelope;
}

void OcdbtColumns::fail(const std::string& problem) const {
  fail_at(name_, problem);
}

OcdbtColumns::Number OcdbtColumns::number() {
  ByteView rest = body_.subspan(at_);
  const auto value = take_varint(rest);
  if (!value) fail("a number without an end");
  const std::uint64_t begin = at_;
  at_ = body_.size() - rest.size();
  return {*value, {begin, at_ - begin}};
}

std::uint64_t OcdbtColumns::byte() {
  return std::to_integer<std::uint64_t>(body_[run(1).offset]);
}

std::vector<OcdbtColumns::Number> OcdbtColumns::column(std::uint64_t rows) {
  if (rows > body_.size() - at_) fail("a column that passes the end");
  budget_.take_memory(rows * sizeof(Number));
  std::vector<Number> numbers;
  numbers.reserve(rows);
  for (std::uint64_t i = 0; i < rows; ++i) numbers.push_back(number());
  return numbers;
}

Span OcdbtColumns::run(std::uint64_t size) {
  if (size > body_.size() - at_) fail(fmt::format("{} bytes where {} are left", size, body_.size() - at_));
  at_ += size;
  return {at_ - size, size};
}

std::uint64_t OcdbtColumns::rows() {
  const std::uint64_t rows = number().value;
  if (rows > body_.size() - at_) fail(fmt::format("{} rows in {} bytes", rows, body_.size() - at_));
  return rows;
}

std::vector<OcdbtFile> ocdbt_files(OcdbtColumns& columns, const std::string& base) {
  const std::uint64_t count = columns.rows();
  const auto shared = columns.column(count == 0 ? 0 : count - 1);
  const auto own = columns.column(count);
  const auto base_size = columns.column(count);
  std::vector<OcdbtFile> files;
  std::string path;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t kept = i == 0 ? 0 : shared[i - 1].value;
    if (kept > path.size()) columns.fail("a path that shares more than there is");
    path.resize(kept);
    path += as_text(columns.bytes(columns.run(own[i].value)));
    if (path.size() + base.size() > max_path_bytes || base_size[i].value > path.size()) columns.fail("a bad path");
    columns.budget().take_memory(sizeof(OcdbtFile) + 2 * (base.size() + path.size()));
    files.push_back({base + path, base + path.substr(0, base_size[i].value)});
  }
  return files;
}

Bytes spliced(ByteView body, std::vector<OcdbtSplice> splices) {
  std::sort(splices.begin(), splices.end(),
            [](const OcdbtSplice& a, const OcdbtSplice& b) { return a.place.offset < b.place.offset; });
  Bytes result;
  std::uint64_t at = 0;
  const auto copy_until = [&](std::uint64_t end) {
    const ByteView kept = body.subspan(at, end - at);
    result.insert(result.end(), kept.begin(), kept.end());
  };
  for (const OcdbtSplice& splice : splices) {
    copy_until(splice.place.offset);
    result.insert(result.end(), splice.after.begin(), splice.after.end());
    at = splice.place.end();
  }
  copy_until(body.size());
  return result;
}

OcdbtSplice number_splice(Span place, std::uint64_t value) {
  OcdbtSplice splice{place, {}};
  append_varint(splice.after, value);
  return splice;
}

}  // namespace tare
