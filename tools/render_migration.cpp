#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
#include "lib/state/fp8_policy.hpp"
#include "tools/render.hpp"

using namespace tare;

namespace {

Style style_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::lost:
    case Outcome::clamped:
      return Style::bad;
    case Outcome::assumed:
    case Outcome::defaulted:
      return Style::warning;
    default:
      return Style::good;
  }
}

std::string bare(const std::string& key) {
  return key.substr(key.find('.') + 1);
}

std::string text_of(const StateValue& value) {
  return std::holds_alternative<std::monostate>(value) ? "none" : escaped(value_to_json(value));
}

std::string head(const Terminal& terminal, const ConvertedValue& value) {
  return fmt::format("  {}  {}", terminal.styled(style_of(value.outcome), fmt::format("{:<9}", name(value.outcome))),
                     escaped(bare(value.key)));
}

std::string values(const ConvertedValue& value) {
  const bool is_lost = value.outcome == Outcome::lost || value.outcome == Outcome::implied;
  std::string text = fmt::format(" = {}", text_of(is_lost ? value.before : value.after));
  const bool has_source = !is_lost && !value.source_key.empty();
  const bool is_other = has_source && (value.before != value.after || bare(value.source_key) != bare(value.key));
  if (is_other) text += fmt::format("  from {} = {}", escaped(bare(value.source_key)), text_of(value.before));
  return text;
}

/// Of FP8 state, which has a value for each slot: where it is from.
std::string source_of(const ConvertedValue& value) {
  const bool is_other = !value.source_key.empty() && bare(value.source_key) != bare(value.key);
  return is_other ? fmt::format("  from {}", escaped(bare(value.source_key))) : std::string();
}

bool has_values(const ConvertedValue& value) {
  return !std::holds_alternative<std::monostate>(value.before) || !std::holds_alternative<std::monostate>(value.after);
}

std::string reason(const ConvertedValue& value) {
  return value.why.empty() ? "\n" : fmt::format("  ({})\n", escaped(value.why));
}

std::string closing(const Terminal& terminal, const Conversion& conversion) {
  if (!conversion.divergence) return "the two rules go on alike on all steps that were tried\n";
  if (!conversion.usual_divergence) {
    return fmt::format("the two rules part only on the way to a bound: {}\n",
                       escaped(sentence(*conversion.divergence)));
  }
  const std::string title = terminal.styled(Style::warning, "the two rules part");
  const std::string usual = fmt::format("{}: {}\n", title, escaped(sentence(*conversion.usual_divergence)));
  if (conversion.divergence->step >= conversion.usual_divergence->step) return usual;
  return usual + fmt::format("at the earliest: {}\n", escaped(sentence(*conversion.divergence)));
}

}  // namespace

std::string render_migration(const Terminal& terminal, const Migration& migration) {
  const Conversion& conversion = migration.conversion;
  std::string text;
  const bool is_fp8 = find_fp8_policy(conversion.state.policy) != nullptr;
  for (const ConvertedValue& value : conversion.values) {
    const bool is_each_slots = is_fp8 && !has_values(value);
    text += head(terminal, value) + (is_each_slots ? source_of(value) : values(value)) + reason(value);
  }
  for (const Configured& configured : migration.configured) {
    text += fmt::format("  {}  {} = {}: not stored there. {}\n", terminal.styled(Style::warning, "configure"),
                        configured.role ? name(*configured.role) : std::string_view(configured.name),
                        text_of(configured.value), configured.sentence);
  }
  if (!migration.flags.empty()) {
    text += fmt::format("  {}  {}\n", terminal.styled(Style::warning, "pass     "), migration.flags);
  }
  for (const std::string& warning : conversion.warnings) {
    text += fmt::format("{}: {}\n", terminal.styled(Style::warning, "warning"), escaped(warning));
  }
  return is_fp8 ? text : text + closing(terminal, conversion);
}
