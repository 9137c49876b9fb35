#include "lib/dialect/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <optional>
#include <set>

#include "lib/base/file_path.hpp"
#include "lib/base/glob.hpp"
#include "lib/dialect/release_keys.hpp"

namespace tare {
namespace {

std::string version_of(const Tree& tree, const Trainer& trainer) {
  if (trainer.version_at.empty()) return {};
  const NodeId node = at_keys(tree, trainer.version_at);
  return node != nowhere && tree.kind(node) == Kind::string ? std::string(tree.text(node)) : std::string();
}

/// What tells whose a scaler is: the same for all of a model's layers.
struct Kept {
  std::string_view dialect, place;

  friend auto operator<=>(const Kept&, const Kept&) = default;
};

std::set<Kept> kept_in(const FoundScalers& scalers) {
  std::set<Kept> kept;
  for (const FoundScaler& scaler : scalers) kept.insert({scaler.dialect->name, scaler.place});
  return kept;
}

bool keeps(const Trainer& trainer, const Kept& kept) {
  if (!trainer.dialect.empty()) return kept.dialect == trainer.dialect;
  return !trainer.places.empty() && kept.dialect == trainer.keeps &&
         std::ranges::any_of(trainer.places, [&](const KeptAt& place) { return place.trainer == kept.place; });
}

bool is_one_of(std::string_view text, std::string_view words) {
  while (!words.empty()) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == text) return true;
    words = bar == words.npos ? std::string_view() : words.substr(bar + 1);
  }
  return false;
}

bool is_set(const Tree& tree, NodeId node) {
  if (node == nowhere || tree.kind(node) == Kind::none) return false;
  if (tree.kind(node) == Kind::list) return !tree.items(node).empty();
  return tree.kind(node) != Kind::boolean || tree.value(node, 0).as_double() != 0;
}

bool meets(const Tree& tree, const Condition& condition) {
  const NodeId node = at_keys(tree, condition.keys);
  if (condition.is == Condition::Is::absent) return node == nowhere;
  if (condition.is == Condition::Is::unset) return !is_set(tree, node);
  if (condition.is == Condition::Is::there ? node == nowhere : !is_set(tree, node)) return false;
  return condition.says.empty() || (tree.kind(node) == Kind::string && is_one_of(tree.text(node), condition.says));
}

bool has_conditions(const Resume& row) {
  return !row.needs.empty() || row.is_about != nullptr;
}

bool meets_all(const Tree& tree, const Resume& row, const FoundScalers& scalers) {
  return std::ranges::all_of(row.needs, [&](const Condition& one) { return meets(tree, one); }) &&
         (row.is_about == nullptr || row.is_about(tree, scalers));
}

bool is_marked(const Tree& tree, const Trainer& trainer, std::string_view file) {
  if (trainer.marks.empty() && trainer.marked_file.empty()) return false;
  if (!trainer.marked_file.empty() && !glob_matches(trainer.marked_file, file)) return false;
  return std::ranges::all_of(trainer.marks, [&](std::string_view keys) {
    const NodeId node = at_keys(tree, keys);
    return node != nowhere && !(tree.kind(node) == Kind::boolean && tree.value(node, 0).as_double() == 0);
  });
}

std::string releases(const Resume& row) {
  if (!row.when.empty()) return fmt::format(" {}", row.when);
  if (row.since.empty() && row.until.empty()) return {};
  if (row.since.empty()) return fmt::format(" up to {}", row.until);
  if (row.until.empty()) return fmt::format(" from {} on", row.since);
  return fmt::format(" {} to {}", row.since, row.until);
}

/// "ultralytics 8.3.200" where the file says so, else the releases that the row is about.
std::string who(const SeenTrainer& seen, const Resume& row, bool is_known) {
  return fmt::format("{}{}", seen.trainer->name, is_known ? " " + seen.version : releases(row));
}

std::string told(const SeenTrainer& seen, const Resume& row, bool is_known) {
  std::string text = fmt::format("{} {}", who(seen, row, is_known), row.what);
  if (!row.helps.empty()) text += fmt::format("; {}", row.helps);
  return text + fmt::format(" ({}{})", row.source, row.was_run ? "" : "; read, not run");
}

bool applies(const Resume& row, bool has_scaler) {
  return row.stored == Resume::Stored::either || (row.stored == Resume::Stored::yes) == has_scaler;
}

}  // namespace

std::vector<SeenTrainer> trainers_of(const Tree& tree, const FileContext& file, const FoundScalers& scalers) {
  const std::set<Kept> kept = kept_in(scalers);
  std::vector<SeenTrainer> seen;
  for (const Trainer* trainer : trainers()) {
    if (trainer->resumes.empty()) continue;
    const bool holds = std::ranges::any_of(kept, [&](const Kept& one) { return keeps(*trainer, one); });
    const bool is_trainers = holds || is_marked(tree, *trainer, file.name);
    std::vector<const Resume*> rows;
    for (const Resume& row : trainer->resumes) {
      if (has_conditions(row) ? meets_all(tree, row, scalers) : is_trainers) rows.push_back(&row);
    }
    if (!rows.empty()) seen.push_back({trainer, version_of(tree, *trainer), std::move(rows)});
  }
  return seen;
}

std::vector<Finding> told_of_resumes(std::span<const SeenTrainer> seen, bool has_scaler) {
  std::vector<Finding> findings;
  std::vector<const Resume*> done;
  for (const SeenTrainer& one : seen) {
    for (const Resume* row : one.rows) {
      if (std::ranges::find(done, row) != done.end()) continue;
      done.push_back(row);
      const auto is_in = release_is_in(one.version, row->since, row->until);
      const bool is_known = is_in && (!row->since.empty() || !row->until.empty());
      if (!applies(*row, has_scaler) || !is_in.value_or(true)) continue;
      findings.push_back({Severity::note, "resume", told(one, *row, is_known), "", ""});
    }
  }
  return findings;
}

std::optional<Growth> growth_of_release(const Tree& tree, const Dialect& dialect) {
  if (dialect.growth != Growth::modulo_either) return std::nullopt;
  const std::string_view last = dialect.plain_modulo_until;  // "DeepSpeed 0.17.0"
  for (const Trainer* trainer : trainers()) {
    if (trainer->dialect != dialect.name) continue;
    const auto is_plain = release_is_in(version_of(tree, *trainer), {}, last.substr(last.rfind(' ') + 1));
    if (is_plain) return *is_plain ? Growth::modulo : Growth::modulo_after_one;
  }
  return std::nullopt;
}

}  // namespace tare
