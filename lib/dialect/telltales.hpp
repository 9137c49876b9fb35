// What a look at a map's keys tells of the dialects that it need be held against: of nearly every map, none.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lib/dialect/dialect.hpp"
#include "lib/tree/tree.hpp"

namespace tare {

/// No framework's scaler has this many keys; a dict with more is a model or a bag of other things.
inline constexpr std::size_t max_keys = 64;

struct Told {
  bool has_telltale = false;  ///< a key that is the first field of some dialect's table
  std::uint64_t words = 0;    ///< which of the finders' telling words some key contains
};

/// A dialect with a finder, and its word among `Told::words`; 0: it looks at each map.
struct TellingFinder {
  const Dialect* dialect = nullptr;
  std::uint64_t word = 0;

  [[nodiscard]] bool may_find(const Told& told) const { return word == 0 || (told.words & word) != 0; }
};

/// All of them, in the dialects' order.
std::span<const TellingFinder> telling_finders();

/// Of the maps of one tree. An optimizer's million states have the same keys each: those are looked at once.
class Telltales {
 public:
  explicit Telltales(const Tree& tree) : tree_(tree) {}

  const Told& of(NodeId map);

 private:
  [[nodiscard]] bool has_keys_of_last(NodeId map) const;

  const Tree& tree_;
  NodeId last_ = nowhere;
  Told told_;
};

}  // namespace tare
