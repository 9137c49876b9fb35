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
  Fp8Summary summary;
};

std::string number(double value) {
  return fmt::format("{:.6g}", value);
}

std::string scale_text(const Fp8Summary& summary) {
  if (summary.scale_count <= 1 || summary.scale_min == summary.scale_max) return number(summary.scale_min);
  return fmt::format("{} .. {}", number(summary.scale_min), number(summary.scale_max));
}

std::string margin_text(const Fp8Summary& summary) {
  return summary.margin_bits ? fmt::format("{:+.2f}", *summary.margin_bits) : "-";
}

std::string state_text(const Fp8Summary& summary) {
  if (summary.not_finite > 0) return fmt::format("{} inf or nan", summary.not_finite);
  return summary.is_dead() ? "no amax yet" : "";
}

constexpr const char* columns = "{:<16} {:<26} {:>12} {:>12} {:>11} {:>8}  {}";

std::string heading() {
  return "  " + fmt::format(columns, "tensor", "scale", "newest amax", "largest", "filled", "margin", "") + "\n";
}

std::string row_text(const Terminal& terminal, const Row& row) {
  const Fp8Summary& s = row.summary;
  const bool has_history = s.length > 0;
  const std::string line =
      fmt::format(columns, escaped(row.role), scale_text(s), has_history ? number(s.newest) : "-",
                  has_history ? number(s.max) : "-", has_history ? fmt::format("{}/{}", s.filled, s.length) : "-",
                  margin_text(s), state_text(s));
  return "    " + terminal.styled(s.not_finite > 0 ? Style::bad : Style::plain, line) + "\n";
}

std::string all_rows(const Terminal& terminal, const std::vector<Row>& rows) {
  std::string text = heading();
  std::string layer;
  for (const Row& row : rows) {
    if (row.layer != layer) text += "  " + terminal.styled(Style::strong, escaped(row.layer)) + "\n";
    layer = row.layer;
    text += row_text(terminal, row);
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
  if (s.not_finite > 0) return fmt::format("{} inf or nan", s.not_finite);
  if (s.is_dead()) return "no amax yet";
  if (s.margin_bits && *s.margin_bits < 0) return fmt::format("saturates by {:.2f} bits", -*s.margin_bits);
  const double bits = std::log2(s.scale_max / usual_scale);
  if (std::isfinite(bits) && std::abs(bits) > far_bits) return fmt::format("its scale is 2^{:+.0f} the usual", bits);
  return {};
}

std::string summarised(const Terminal& terminal, const std::vector<Row>& rows) {
  std::map<std::string, std::vector<const Row*>> roles;
  for (const Row& row : rows) roles[row.role].push_back(&row);
  std::string text = fmt::format("  {:<16} {:>6}  {:<36} {:<36} {}\n", "tensor", "count",
                                 "scale: least .. median .. most", "largest amax", "margin in bits");
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
    text += fmt::format("  {:<16} {:>6}  {:<36} {:<36} {}\n", escaped(role), members.size(), spread_text(usual),
                        amaxes.empty() ? "-" : spread_text(spread_of(std::move(amaxes))),
                        margins.empty() ? "-" : spread_text(spread_of(std::move(margins))));
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
        rows.push_back({layer_name(scaler->state()), slot.role, summary_of(slot)});
      }
    }
    const bool is_whole = !layers.empty() || scalers.size() <= most_shown;
    text += fmt::format("\n{}  FP8 state of {} layer{}, {} tensors\n", terminal.styled(Style::strong, name),
                        scalers.size(), scalers.size() == 1 ? "" : "s", rows.size());
    text += is_whole ? all_rows(terminal, rows) : summarised(terminal, rows);
  }
  return text;
}
