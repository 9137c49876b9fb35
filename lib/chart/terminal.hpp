// A curve in letters: braille dots where a terminal shows them, else ASCII.
#pragma once

#include <string>
#include <vector>

#include "lib/chart/curve.hpp"

namespace tare::chart {

struct TerminalSize {
  std::size_t columns = 80;  ///< of the whole picture, 20 at least
  std::size_t rows = 12;     ///< of the curve alone
  bool is_ascii = false;
};

/// The rows of a picture from top to bottom, each no wider than `columns`, without blanks behind.
struct Picture {
  std::vector<std::string> curve;  ///< with the axis in front
  std::string events;              ///< a row with x where something overflowed; empty where nothing did
  std::string marks;               ///< a row with the checkpoints: |, o for good ones, ! for bad ones; empty: none
  std::string steps;               ///< the axis below
};

Picture draw_in_letters(const Curve& curve, const TerminalSize& size);

}  // namespace tare::chart
