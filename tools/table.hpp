// Text in columns, each as wide as what stands in it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/terminal.hpp"

struct TableRow {
  std::vector<std::string> cells;  ///< one alone is a heading over all columns; text from a file is escaped already
  Style style = Style::plain;
};

enum class Align { left, right };

/// A line a row, two spaces between columns and `indent` before them (headings stand two further left). The last column
/// is not padded. REQUIRES: no row has more cells than there are `columns`.
std::string table(const Terminal& terminal, std::size_t indent, std::span<const Align> columns,
                  const std::vector<TableRow>& rows);
