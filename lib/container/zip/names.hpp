// Names of a zip directory, looked up without regard to case: one table that finds records and twins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tare {

struct ZipEntry;

/// Holds numbers of entries alone: the entries are given with every call, always the same.
class ZipNames {
 public:
  void reserve(std::size_t names);
  /// Adds the last entry; gives the number of an earlier one whose name equals its own but for ASCII case, if there is
  /// one. Nothing where names collide so often that only malice explains it: `collides` says so from then on.
  std::optional<std::uint32_t> add(std::span<const ZipEntry> entries);
  /// The number of the first entry whose name equals `name` but for ASCII case.
  [[nodiscard]] std::optional<std::uint32_t> find(std::span<const ZipEntry> entries, std::string_view name) const;
  [[nodiscard]] bool collides() const { return probes_ > 64 * (slots_.size() + 64); }

 private:
  static constexpr std::uint32_t unused = 0;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = unused;  ///< one more than the entry's
  };
  [[nodiscard]] std::size_t slot_of(std::span<const ZipEntry> entries, std::string_view name, std::uint32_t hash) const;

  std::vector<Slot> slots_;  ///< a power of two, at most half full
  std::size_t probes_ = 0;
};

}  // namespace tare
