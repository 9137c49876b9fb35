#include "tools/table.hpp"

#include <algorithm>

namespace {

/// Of text in UTF-8: all but the bytes that continue a character.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

bool is_heading(const TableRow& row) {
  return row.cells.size() == 1;
}

std::vector<std::size_t> widths_of(std::size_t columns, const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths(columns);
  for (const TableRow& row : rows) {
    if (is_heading(row)) continue;
    for (std::size_t i = 0; i < row.cells.size(); ++i) widths[i] = std::max(widths[i], width(row.cells[i]));
  }
  return widths;
}

std::string line_of(const TableRow& row, std::span<const Align> columns, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const std::string& cell = row.cells[i];
    const std::string padding(widths[i] - width(cell), ' ');
    line += (i == 0 ? "" : "  ") + (columns[i] == Align::right ? padding + cell : cell + padding);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string table(const Terminal& terminal, std::size_t indent, std::span<const Align> columns,
                  const std::vector<TableRow>& rows) {
  const std::vector<std::size_t> widths = widths_of(columns.size(), rows);
  std::string text;
  for (const TableRow& row : rows) {
    const std::string line = is_heading(row) ? row.cells.front() : line_of(row, columns, widths);
    text += std::string(indent - (is_heading(row) ? 2 : 0), ' ') + terminal.styled(row.style, line) + "\n";
  }
  return text;
}
