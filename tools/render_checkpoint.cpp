#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/container/pickle/read/global.hpp"
#include "lib/dialect/policy.hpp"
#include "tools/render.hpp"
#include "tools/render_fp8.hpp"
#include "tools/table.hpp"

using namespace tare;

namespace {

std::string files_text(const Checkpoint& checkpoint, const Scaler& scaler) {
  std::vector<std::string> names;
  for (const std::size_t file : files_of(scaler)) names.push_back(checkpoint.files[file].path);
  return render_names(names);
}

/// Roles first, in the order of the role table; then what has none.
std::vector<const Field*> in_reading_order(const FoundScaler& scaler) {
  std::vector<const Field*> fields;
  for (const Field& field : scaler.fields) fields.push_back(&field);
  std::stable_sort(fields.begin(), fields.end(), [](const Field* a, const Field* b) {
    const auto rank = [](const Field* f) { return f->role ? static_cast<int>(*f->role) : 1000; };
    return rank(a) < rank(b);
  });
  return fields;
}

constexpr std::array field_columns = {Align::left, Align::left, Align::left, Align::left, Align::left};

TableRow field_row(const Field& field) {
  const std::string role(field.role ? name(*field.role) : "-");
  const std::string native = field.editable ? escaped(field.name) : escaped(field.name) + " (not editable)";
  return {{role, value_text(field.value), power_text(field.value), escaped(field.value.type), native},
          field.role ? Style::plain : Style::faint};
}

/// Not stored with the state: what the run was told.
TableRow configured_row(const ConfiguredValue& configured) {
  return {{std::string(configured.key), value_text(configured.value), power_text(configured.value), "config",
           escaped(configured.from)},
          Style::faint};
}

std::string fields_table(const Terminal& terminal, const FoundScaler& state) {
  std::vector<TableRow> rows;
  for (const Field* field : in_reading_order(state)) rows.push_back(field_row(*field));
  for (const ConfiguredValue& configured : state.configuration) rows.push_back(configured_row(configured));
  return table(terminal, 2, field_columns, rows);
}

std::string scaler_block(const Terminal& terminal, const Checkpoint& checkpoint, const Scaler& scaler) {
  const FoundScaler& state = scaler.state();
  const std::string where = state.path.empty() ? "(the whole file)" : escaped(state.path);
  std::string text = fmt::format("\n{}  {}\n", terminal.styled(Style::strong, state.dialect->name),
                                 terminal.styled(Style::strong, where));
  if (!state.place.empty()) text += fmt::format("  kept there by {}\n", state.place);
  if (state.authority != Authority::unknown) text += fmt::format("  {}\n", sentence(state.authority));
  for (const std::string& path : state.also_at) text += fmt::format("  the same object is at {}\n", escaped(path));
  const std::size_t count = files_of(scaler).size();
  text += fmt::format("  in {} file{}{}: {}\n", count, count == 1 ? "" : "s",
                      !scaler.agree              ? terminal.styled(Style::bad, ", other files disagree")
                      : scaler.copies.size() > 1 ? ", which agree"
                                                 : "",
                      files_text(checkpoint, scaler));
  text += fields_table(terminal, state);
  const GrowthOutlook outlook = growth_outlook(state);
  if (!outlook.sentence.empty()) text += fmt::format("  {}\n", outlook.sentence);
  if (const auto level = window_level(state)) text += fmt::format("  {}\n", sentence(*level));
  return text;
}

/// Of one scaler's states no more than these are shown, where files disagree.
constexpr std::size_t most_states = 8;

/// States of one scaler: those that most files hold, or that come first, are shown.
struct StateGroup {
  std::vector<const Scaler*> states;

  [[nodiscard]] std::size_t left_out() const { return states.size() - std::min(states.size(), most_states); }
  [[nodiscard]] std::vector<const Scaler*> shown() const {
    std::vector<const Scaler*> chosen = states;
    std::ranges::stable_sort(chosen, std::greater(), [](const Scaler* state) { return state->copies.size(); });
    chosen.resize(states.size() - left_out());
    std::ranges::sort(chosen);  // as they stand in the checkpoint
    return chosen;
  }
};

/// Loss scalers, those of one group together where its first stands.
std::vector<StateGroup> state_groups(const Checkpoint& checkpoint) {
  std::vector<StateGroup> groups;
  std::map<std::size_t, std::size_t> places;
  for (const Scaler& scaler : checkpoint.scalers) {
    if (scaler.state().dialect->kind == "fp8") continue;
    const auto [known, is_new] = places.try_emplace(scaler.group, groups.size());
    if (is_new) groups.emplace_back();
    groups[known->second].states.push_back(&scaler);
  }
  return groups;
}

std::string group_blocks(const Terminal& terminal, const Checkpoint& checkpoint, const StateGroup& group) {
  std::string text;
  const auto shown = group.shown();
  for (const Scaler* scaler : shown) text += scaler_block(terminal, checkpoint, *scaler);
  if (group.left_out() == 0) return text;
  std::size_t files = 0;
  for (const Scaler* scaler : group.states) files += scaler->copies.size();
  for (const Scaler* scaler : shown) files -= scaler->copies.size();
  return text + fmt::format("\n  and {} more states, in {} files; --json shows all\n", group.left_out(), files);
}

Style style_of(Severity severity) {
  if (severity == Severity::error) return Style::bad;
  return severity == Severity::warning ? Style::warning : Style::faint;
}

}  // namespace

std::string render_finding(const Terminal& terminal, const Finding& finding) {
  std::string where = escaped(finding.file);
  if (!finding.path.empty()) where += (where.empty() ? "" : ", ") + escaped(finding.path);
  return fmt::format("{}: {}{}{} [{}]\n", terminal.styled(style_of(finding.severity), name(finding.severity)), where,
                     where.empty() ? "" : ": ", escaped(finding.message), finding.code);
}

std::string render_checkpoint(const Terminal& terminal, const Checkpoint& checkpoint, const std::string& layers) {
  const std::size_t count = checkpoint.files.size();
  std::string text = fmt::format("{}  ({} file{} read)\n", terminal.styled(Style::strong, escaped(checkpoint.resolved)),
                                 count, count == 1 ? "" : "s");
  for (const StateGroup& group : state_groups(checkpoint)) text += group_blocks(terminal, checkpoint, group);
  text += render_fp8(terminal, checkpoint, layers);
  if (!checkpoint.findings.empty()) text += "\n";
  for (const Finding& finding : checkpoint.findings) text += render_finding(terminal, finding);
  return text;
}

std::string render_globals(const Terminal& terminal, const Checkpoint& checkpoint) {
  std::string text = "\nclasses and functions that are named (never run here; weights_only is torch.load's default):\n";
  for (const CheckpointFile& file : checkpoint.files) {
    for (const GlobalName& global : file.globals) {
      const Trust trust = trust_of(global.module, global.name);
      const Style style = trust == Trust::dangerous ? Style::bad
                          : trust == Trust::refused ? Style::warning
                                                    : Style::good;
      text += fmt::format("  {}{:<{}} {}.{}  ({})\n", terminal.styled(style, name(trust)), "", 10 - name(trust).size(),
                          escaped(global.module), escaped(global.name), escaped(file.path));
    }
  }
  return text;
}
