// What torch.save wrote before 1.6, and inside TransformerEngine's extra state still does: five pickles in a row (magic
// number, protocol, system, object, storage keys), then every storage as a count and its raw bytes. No index, no
// checksum: where a storage stands follows from the sizes of those before it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/base/keyed_hash.hpp"
#include "lib/base/source.hpp"
#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/read/tensor.hpp"

namespace tare {

/// Whether the first bytes are the magic number, pickled by any protocol from 2 on.
bool starts_like_legacy_stream(ByteView head);

/// Where the five pickles stand; their text.
struct LegacyLayout {
  enum Part : std::size_t { magic, protocol, system, object, keys, count };
  std::array<Span, Part::count> parts;
  Bytes text;  ///< the file from its first byte to the end of the object
  Bytes key_text;
};

/// Finds the five pickles, without reading them. Throws `refused` for pickles beyond lib/base/limits.hpp.
LegacyLayout read_legacy_layout(const Source& source);

/// Reads one of them; `what` names it in messages.
Pickle read_legacy_part(const Source& source, const LegacyLayout& layout, LegacyLayout::Part part,
                        std::string_view what);

/// Checks the first three pickles. Returns the byte order of the machine that wrote the file. Throws `corrupt`.
std::endian read_legacy_header(const Source& source, const LegacyLayout& layout);

/// Storages of an object, found where its pickle names them, then placed in the order of the key list.
class LegacyStorages final : public StorageTable {
 public:
  LegacyStorages(std::shared_ptr<const Source> source, std::endian order) : source_(std::move(source)), order_(order) {}

  void name_all(const Tree& tree);
  /// Gives every storage its place, from `at` on; returns the end of the last.
  std::uint64_t place_all(const Tree& keys, std::uint64_t at);

  [[nodiscard]] Span find(std::string_view key, std::uint64_t size) const override;
  [[nodiscard]] std::string unused_key(std::string_view last) const override;
  [[nodiscard]] std::endian order() const override { return order_; }
  [[nodiscard]] const Source& source() const override { return *source_; }

 private:
  struct Storage {
    Span data;  ///< in the file
    std::uint64_t count = 0;
    ElementType type;
  };
  [[noreturn]] void fail(const std::string& problem) const;
  [[nodiscard]] Span place(std::string_view key, const Storage& storage, std::uint64_t at) const;

  std::shared_ptr<const Source> source_;
  std::endian order_;
  std::unordered_map<std::string_view, Storage, KeyedHash> storages_;  ///< keys are in the object's text
};

}  // namespace tare
