#include "tools/render_fp8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "tools/table.hpp"

using namespace tare;

namespace {

/// Checkpoints of up to this many layers are shown whole.
constexpr std::size_t most_shown = 12;
constexpr std::size_t most_outliers = 10;
/// A scale this many powers of two from the usual one of its role stands out.
constexpr double far_bits = 12;

/// A tensor. Of a million, few are told by their names.
struct Row {
  const FoundScaler& state;
  const Fp8Slot& slot;
  std::string_view role;
  Fp8Summary summary;

  [[nodiscard]] std::string layer() const { return layer_of(state, slot); }
};

/// What the file holds for the scale that is shown: "scale_fwd", "1 / weight_scale (float8_e4m3fn)".
std::string stored_as(const Row& row) {
  const Fp8Slot& slot = row.slot;
  const ElementType type = scale_type(*slot.scale);
  const bool is_usual = type.size == 0 || type.name == "float32";
  return fmt::format("{}{}{}", slot.meaning == ScaleMeaning::divisor ? "1 / " : "", escaped(slot.scale->name),
                     is_usual ? "" : fmt::format(" ({})", type.name));
}

bool holds_powers_alone(const Row& row) {
  return scale_type(*row.slot.scale).name == "float8_e8m0fnu";
}

std::string six_digits(double value) {
  return fmt::format("{:.6g}", value);
}

std::string amax(double value) {
  return fmt::format("{:.4g}", value);
}

std::string power(double value) {
  return std::isfinite(value) && value > 0 ? fmt::format("2^{:g}", std::log2(value)) : six_digits(value);
}

std::string scale_text(const Row& row) {
  const Fp8Summary& summary = row.summary;
  const auto text = [&](double scale) { return holds_powers_alone(row) ? power(scale) : six_digits(scale); };
  if (summary.scale_count <= 1 || summary.scale_min == summary.scale_max) return text(summary.scale_min);
  return fmt::format("{} .. {}", text(summary.scale_min), text(summary.scale_max));
}

std::string margin_text(const Fp8Summary& summary) {
  if (!summary.margin_bits) return "-";
  const double hundredths = std::round(*summary.margin_bits * 100);
  return fmt::format("{:+.2f}", (hundredths + 0.0) / 100);  // + 0.0: -0 is 0
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
  if (!ill.empty()) return fmt::format("{}: {}", stored_as(row), ill);
  return row.summary.is_dead() ? stored_as(row) + ": no amax yet" : stored_as(row);
}

constexpr const char* last_column = "stored as";
constexpr std::array columns_with_history = {Align::left,  Align::left,  Align::right, Align::right,
                                             Align::right, Align::right, Align::left};
constexpr std::array summary_columns = {Align::left,  Align::right, Align::left, Align::right,
                                        Align::right, Align::right, Align::left};
/// Weights' scales have no history.
constexpr std::array columns_without_history = {Align::left, Align::left, Align::left};

std::vector<std::string> cells_of(const Row& row) {
  const Fp8Summary& s = row.summary;
  const bool has_history = s.length > 0;
  return {escaped(row.role),
          scale_text(row),
          has_history ? amax(s.newest) : "-",
          has_history ? amax(s.max) : "-",
          has_history ? fmt::format("{}/{}", s.filled, s.length) : "-",
          margin_text(s),
          state_text(row)};
}

/// States of one framework, and which of their layers are meant.
struct Shown {
  std::vector<const Scaler*> scalers = {};
  std::optional<std::string> layers = {};
};

/// One at a time: a model may have a million.
template <typename Take>
void for_each_row(const Shown& shown, Take take) {
  for (const Scaler* scaler : shown.scalers) {
    const FoundScaler& state = scaler->state();
    for (const Fp8Slot& slot : fp8_slots(state, shown.layers))
      take(Row{state, slot, tensor_of(state, slot), summary_of(slot)});
  }
}

std::string all_rows(const Terminal& terminal, const Shown& shown, bool is_wide) {
  std::vector<TableRow> lines;
  lines.push_back(
      {is_wide ? std::vector<std::string>{"tensor", "scale", "newest", "largest", "filled", "margin", last_column}
               : std::vector<std::string>{"tensor", "scale", last_column}});
  std::string layer;
  for_each_row(shown, [&](const Row& row) {
    if (row.layer() != layer) lines.push_back({{escaped(row.layer())}, Style::strong});
    layer = row.layer();
    const Style style = illness(row.summary).empty() ? Style::plain : Style::bad;
    lines.push_back(
        {is_wide ? cells_of(row) : std::vector<std::string>{escaped(row.role), scale_text(row), state_text(row)},
         style});
  });
  return is_wide ? table(terminal, 4, columns_with_history, lines) : table(terminal, 4, columns_without_history, lines);
}

struct Spread {
  double min = 0, median = 0, max = 0;
};

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

/// A line of what the tensors of one role hold; `values` may be none.
TableRow spread_row(std::string role, std::string count, std::string what, const std::vector<double>& values,
                    std::string stored_as) {
  if (values.empty())
    return {{std::move(role), std::move(count), std::move(what), "-", "-", "-", std::move(stored_as)}};
  const Spread spread = spread_of(values);
  return {{std::move(role), std::move(count), std::move(what), six_digits(spread.min), six_digits(spread.median),
           six_digits(spread.max), std::move(stored_as)}};
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

/// What the tensors of one role hold, whichever layers have them.
struct RoleValues {
  std::size_t count = 0;
  std::string stored_as;  ///< by the first
  std::vector<double> scales, amaxes, margins;
};

using RolesValues = std::map<std::string, RoleValues, std::less<>>;

RolesValues values_by_role(const Shown& shown) {
  RolesValues roles;
  for_each_row(shown, [&](const Row& row) {
    const auto known = roles.find(row.role);
    RoleValues& values = known == roles.end() ? roles[std::string(row.role)] : known->second;
    if (values.count++ == 0) values.stored_as = stored_as(row);
    if (std::isfinite(row.summary.scale_max)) values.scales.push_back(row.summary.scale_max);
    if (row.summary.length > 0) values.amaxes.push_back(row.summary.max);
    if (row.summary.margin_bits) values.margins.push_back(*row.summary.margin_bits);
  });
  return roles;
}

/// Those of one role.
struct Outliers {
  double usual_scale = 0;
  std::size_t count = 0;
  std::vector<std::string> first;  ///< up to most_outliers
};

std::string outliers_text(const Terminal& terminal, const Shown& shown, const RolesValues& roles) {
  std::map<std::string, Outliers, std::less<>> all;
  for (const auto& [role, values] : roles) all[role].usual_scale = spread_of(values.scales).median;
  for_each_row(shown, [&](const Row& row) {
    Outliers& outliers = all.find(row.role)->second;
    const std::string remark = remark_on(row, outliers.usual_scale);
    if (remark.empty() || outliers.count++ >= most_outliers) return;
    outliers.first.push_back(fmt::format("{} {}: {}", escaped(row.layer()), escaped(row.role), remark));
  });
  std::size_t count = 0, told = 0;
  std::string lines;
  for (const auto& [role, outliers] : all) {
    count += outliers.count;
    for (std::size_t i = 0; i < outliers.first.size() && told < most_outliers; ++i, ++told) {
      lines += "    " + terminal.styled(Style::warning, outliers.first[i]) + "\n";
    }
  }
  if (count == 0) return {};
  if (count > told) lines += fmt::format("    and {} more\n", count - told);
  return fmt::format("  {} stand out:\n{}", count, lines);
}

std::string summarised(const Terminal& terminal, const Shown& shown) {
  const RolesValues roles = values_by_role(shown);
  std::vector<TableRow> lines{{{"tensor", "count", "", "least", "median", "most", last_column}}};
  for (const auto& [role, values] : roles) {
    lines.push_back(spread_row(escaped(role), fmt::to_string(values.count), "scale", values.scales, values.stored_as));
    if (!values.amaxes.empty()) lines.push_back(spread_row("", "", "largest amax", values.amaxes, ""));
    if (!values.margins.empty()) lines.push_back(spread_row("", "", "margin in bits", values.margins, ""));
  }
  return table(terminal, 2, summary_columns, lines) + outliers_text(terminal, shown, roles) +
         "  --layer GLOB shows every tensor of the layers that match, --json everything\n";
}

struct Extent {
  std::size_t layers = 0;
  std::size_t tensors = 0;
  bool has_histories = false;
};

Extent extent_of(const Shown& shown) {
  Extent extent;
  for (const Scaler* scaler : shown.scalers) {
    const FoundScaler& state = scaler->state();
    const std::vector<Fp8Slot> slots = fp8_slots(state, shown.layers);
    std::set<std::string> layers;
    for (const Fp8Slot& slot : slots) {
      if (slots.size() > 1) layers.insert(layer_of(state, slot));
      ++extent.tensors;
      extent.has_histories = extent.has_histories || slot.history_length() > 0;
    }
    extent.layers += std::max<std::size_t>(layers.size(), 1);
  }
  return extent;
}

}  // namespace

std::string render_fp8(const Terminal& terminal, const Checkpoint& checkpoint, const std::string& layers) {
  std::map<std::string_view, Shown> dialects;
  for (const Scaler& scaler : checkpoint.scalers) {
    const FoundScaler& state = scaler.state();
    if (state.dialect->kind != "fp8" || (!layers.empty() && !is_layer(state, layers))) continue;
    Shown& shown = dialects[state.dialect->name];
    shown.scalers.push_back(&scaler);
    if (!layers.empty()) shown.layers = layers;
  }
  std::string text;
  for (const auto& [name, shown] : dialects) {
    const Extent extent = extent_of(shown);
    const bool is_whole = !layers.empty() || extent.layers <= most_shown;
    text += fmt::format("\n{}  {}: {} layer{}, {} tensor{}; FP8 = value x scale{}\n",
                        terminal.styled(Style::strong, name), shown.scalers.front()->state().dialect->framework,
                        extent.layers, extent.layers == 1 ? "" : "s", extent.tensors, extent.tensors == 1 ? "" : "s",
                        extent.has_histories ? "; newest and largest amax" : "");
    text += is_whole ? all_rows(terminal, shown, extent.has_histories) : summarised(terminal, shown);
  }
  return text;
}
