#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
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

std::string line(const Terminal& terminal, const ConvertedValue& value) {
  const bool is_lost = value.outcome == Outcome::lost || value.outcome == Outcome::implied;
  std::string text =
      fmt::format("  {}  {} = {}", terminal.styled(style_of(value.outcome), fmt::format("{:<9}", name(value.outcome))),
                  escaped(bare(value.key)), text_of(is_lost ? value.before : value.after));
  const bool has_source = !is_lost && !value.source_key.empty();
  const bool is_other = has_source && (value.before != value.after || bare(value.source_key) != bare(value.key));
  if (is_other) text += fmt::format("  from {} = {}", escaped(bare(value.source_key)), text_of(value.before));
  if (!value.why.empty()) text += fmt::format("  ({})", escaped(value.why));
  return text + "\n";
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
  for (const ConvertedValue& value : conversion.values) text += line(terminal, value);
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
  return text + closing(terminal, conversion);
}
