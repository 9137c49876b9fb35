#include "tools/render_fp8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/dialect/fp8_slots.hpp"

using namespace tare;

namespace {

/// Checkpoints of up to this many layers are shown whole.
constexpr std::size_t most_shown = 12;
constexpr std::size_t most_outliers = 10;
/// A scale this many powers of two from the usual one of its role stands out.
constexpr double far_bits = 12;

struct Row {
  std::string layer;
  std::string role;
  std::string stored_as;
  bool is_power = false;  ///< its type holds powers of two alone
  Fp8Summary summary;
};

/// What the file holds for the scale that is shown: "scale_fwd", "1 / weight_scale (float8_e4m3fn)".
std::string stored_as(const Fp8Slot& slot) {
  const ElementType type = scale_type(*slot.scale);
  const bool is_usual = type.size == 0 || type.name == "float32";
  return fmt::format("{}{}{}", slot.meaning == ScaleMeaning::divisor ? "1 / " : "", escaped(slot.scale->name),
                     is_usual ? "" : fmt::format(" ({})", type.name));
}

Row row_of(const std::string& layer, const Fp8Slot& slot) {
  return {layer, slot.role, stored_as(slot), scale_type(*slot.scale).name == "float8_e8m0fnu", summary_of(slot)};
}

std::string number(double value) {
  return fmt::format("{:.6g}", value);
}

std::string power(double value) {
  return std::isfinite(value) && value > 0 ? fmt::format("2^{:g}", std::log2(value)) : number(value);
}

std::string scale_text(const Row& row) {
  const Fp8Summary& summary = row.summary;
  const auto text = [&](double scale) { return row.is_power ? power(scale) : number(scale); };
  if (summary.scale_count <= 1 || summary.scale_min == summary.scale_max) return text(summary.scale_min);
  return fmt::format("{} .. {}", text(summary.scale_min), text(summary.scale_max));
}

std::string margin_text(const Fp8Summary& summary) {
  return summary.margin_bits ? fmt::format("{:+.2f}", *summary.margin_bits) : "-";
}

/// What is wrong with the scales or the history; empty where nothing is.
std::string illness(const Fp8Summary& summary) {
  std::string text;
  const auto tell = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  tell(summary.not_finite, "inf or nan");
  tell(summary.scales_zero, summary.scales_zero == 1 ? "scale of 0" : "scales of 0");
  tell(summary.scales_negative, "below 0");
  return text;
}

std::string state_text(const Row& row) {
  const std::string ill = illness(row.summary);
  if (!ill.empty()) return fmt::format("{}: {}", row.stored_as, ill);
  return row.summary.is_dead() ? row.stored_as + ": no amax yet" : row.stored_as;
}

/// Weights' scales have no history: their table is narrow.
constexpr const char* columns = "{:<16} {:<26} {:>12} {:>12} {:>11} {:>8}  {}";
constexpr const char* narrow_columns = "{:<16} {:<26} {}";
constexpr const char* last_column = "stored as";

std::string heading(bool has_histories) {
  return "  " +
         (has_histories
              ? fmt::format(columns, "tensor", "scale", "newest amax", "largest", "filled", "margin", last_column)
              : fmt::format(narrow_columns, "tensor", "scale", last_column)) +
         "\n";
}

std::string line_of(const Row& row, bool has_histories) {
  const Fp8Summary& s = row.summary;
  if (!has_histories) return fmt::format(narrow_columns, escaped(row.role), scale_text(row), state_text(row));
  const bool has_history = s.length > 0;
  return fmt::format(columns, escaped(row.role), scale_text(row), has_history ? number(s.newest) : "-",
                     has_history ? number(s.max) : "-", has_history ? fmt::format("{}/{}", s.filled, s.length) : "-",
                     margin_text(s), state_text(row));
}

std::string all_rows(const Terminal& terminal, const std::vector<Row>& rows) {
  const bool has_histories = std::ranges::any_of(rows, [](const Row& row) { return row.summary.length > 0; });
  std::string text = heading(has_histories);
  std::string layer;
  for (const Row& row : rows) {
    if (row.layer != layer) text += "  " + terminal.styled(Style::strong, escaped(row.layer)) + "\n";
    layer = row.layer;
    const Style style = illness(row.summary).empty() ? Style::plain : Style::bad;
    text += "    " + terminal.styled(style, line_of(row, has_histories)) + "\n";
  }
  return text;
}

struct Spread {
  double min = 0, median = 0, max = 0;
};

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

std::string spread_text(const Spread& spread) {
  return fmt::format("{} .. {} .. {}", number(spread.min), number(spread.median), number(spread.max));
}

/// What is wrong, or unusual, with a tensor; empty where nothing is.
std::string remark_on(const Row& row, double usual_scale) {
  const Fp8Summary& s = row.summary;
  if (const std::string ill = illness(s); !ill.empty()) return ill;
  if (s.is_dead()) return "no amax yet";
  if (s.margin_bits && *s.margin_bits < 0) return fmt::format("saturates by {:.2f} bits", -*s.margin_bits);
  const double bits = std::log2(s.scale_max / usual_scale);
  if (std::isfinite(bits) && std::abs(bits) > far_bits) return fmt::format("its scale is 2^{:+.0f} the usual", bits);
  return {};
}

std::string summarised(const Terminal& terminal, const std::vector<Row>& rows) {
  std::map<std::string, std::vector<const Row*>> roles;
  for (const Row& row : rows) roles[row.role].push_back(&row);
  std::string text = fmt::format("  {:<16} {:>6}  {:<36} {:<36} {:<30} {}\n", "tensor", "count",
                                 "scale: least .. median .. most", "largest amax", "margin in bits", last_column);
  std::vector<std::string> outliers;
  for (const auto& [role, members] : roles) {
    std::vector<double> scales;
    std::vector<double> amaxes;
    std::vector<double> margins;
    for (const Row* row : members) {
      if (std::isfinite(row->summary.scale_max)) scales.push_back(row->summary.scale_max);
      if (row->summary.length > 0) amaxes.push_back(row->summary.max);
      if (row->summary.margin_bits) margins.push_back(*row->summary.margin_bits);
    }
    const Spread usual = spread_of(std::move(scales));
    text += fmt::format("  {:<16} {:>6}  {:<36} {:<36} {:<30} {}\n", escaped(role), members.size(), spread_text(usual),
                        amaxes.empty() ? "-" : spread_text(spread_of(std::move(amaxes))),
                        margins.empty() ? "-" : spread_text(spread_of(std::move(margins))), members.front()->stored_as);
    for (const Row* row : members) {
      const std::string remark = remark_on(*row, usual.median);
      if (!remark.empty()) outliers.push_back(fmt::format("{} {}: {}", escaped(row->layer), escaped(role), remark));
    }
  }
  if (!outliers.empty()) text += fmt::format("  {} stand out:\n", outliers.size());
  for (std::size_t i = 0; i < std::min(outliers.size(), most_outliers); ++i) {
    text += "    " + terminal.styled(Style::warning, outliers[i]) + "\n";
  }
  if (outliers.size() > most_outliers) text += fmt::format("    and {} more\n", outliers.size() - most_outliers);
  return text + "  --layer GLOB shows every tensor of the layers that match, --json everything\n";
}

}  // namespace

std::string render_fp8(const Terminal& terminal, const Checkpoint& checkpoint, const std::string& layers) {
  std::map<std::string_view, std::vector<const Scaler*>> dialects;
  for (const Scaler& scaler : checkpoint.scalers) {
    const FoundScaler& state = scaler.state();
    if (state.dialect->kind != "fp8" || (!layers.empty() && !is_layer(state, layers))) continue;
    dialects[state.dialect->name].push_back(&scaler);
  }
  std::string text;
  for (const auto& [name, scalers] : dialects) {
    std::vector<Row> rows;
    for (const Scaler* scaler : scalers) {
      for (const Fp8Slot& slot : fp8_slots(scaler->state())) {
        rows.push_back(row_of(layer_name(scaler->state()), slot));
      }
    }
    const bool is_whole = !layers.empty() || scalers.size() <= most_shown;
    text += fmt::format("\n{}  {}: {} layer{}, {} tensor{}; FP8 = value x scale\n",
                        terminal.styled(Style::strong, name), scalers.front()->state().dialect->framework,
                        scalers.size(), scalers.size() == 1 ? "" : "s", rows.size(), rows.size() == 1 ? "" : "s");
    text += is_whole ? all_rows(terminal, rows) : summarised(terminal, rows);
  }
  return text;
}
