// Names of a zip directory, looked up without regard to case: one table that finds records and twins.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tare {

class ZipNames {
 public:
  void reserve(std::size_t names);
  /// Adds name number `index`; gives the number of an earlier name that equals it but for ASCII case, if there is one.
  /// Nothing where names collide so often that only malice explains it: `collides` says so from then on.
  std::optional<std::uint32_t> add(std::string_view name, std::uint32_t index);
  /// The number of the first name that equals `name` but for ASCII case.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const;
  [[nodiscard]] bool collides() const { return probes_ > 64 * (slots_.size() + 64); }

 private:
  struct Slot {
    std::string_view name;
    std::uint32_t hash = 0;
    std::uint32_t index = 0;
    bool is_used = false;
  };
  [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const;

  std::vector<Slot> slots_;  ///< a power of two, at most half full
  std::size_t probes_ = 0;
};

}  // namespace tare
