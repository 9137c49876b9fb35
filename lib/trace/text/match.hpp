// Which shapes a line has: one mostly, several where messages of several ranks are glued together.
#pragma once

#include <functional>
#include <vector>

#include "lib/trace/text/line_shape.hpp"

namespace tare {

class Matcher {
 public:
  /// What the line tells, in its order. Valid until the next call.
  const std::vector<Facts>& match(const Line& line);

 private:
  struct Match {
    Facts facts;
    std::size_t at;
  };

  using Shapes = std::vector<const LineShape*>;

  void look_for(const Shapes& shapes, const LineShape*& favourite, const Line& line);
  bool find_all(const LineShape& shape, const Line& line);
  [[nodiscard]] bool is_taken(std::size_t at) const;

  const LineShape *favourite_ = nullptr, *favourite_aside_ = nullptr;  ///< that fitted last: mostly the next one's
  std::vector<Match> matches_;
  std::vector<Facts> found_;
};

}  // namespace tare
