// Where in the run a row stands: of several numbers that could say so, the surest.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/trace/series/series.hpp"

namespace tare {

class RowPlace {
 public:
  /// One number of the row. `name` is borrowed.
  void take(const Key& key, std::string_view name, double value);
  /// Gives `row` its step: the one that it tells, else its number within the epoch beside it, else the epoch. What that
  /// counts: "update", "epoch", or "" for steps.
  std::string_view tell(SeriesRow& row) const;

 private:
  struct Count {
    std::int64_t number;
    int rank;
    std::string_view name;
  };

  static void take_surer(std::optional<Count>& count, const Count& other);

  std::optional<Count> step_, batch_, epoch_;
};

}  // namespace tare
