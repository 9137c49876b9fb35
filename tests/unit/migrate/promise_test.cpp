// What a migration promises holds: what the report says of a step holds for every pattern of overflows before it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "lib/container/container.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/dialect/state_template.hpp"
#include "lib/migrate/migrate.hpp"
#include "lib/state/policy_state.hpp"
#include "lib/state/policy_value.hpp"
#include "tests/catch.hpp"
#include "tests/unit/migrate/random_scaler.hpp"

namespace tare {
namespace {

constexpr std::int64_t steps = 3'000;
constexpr auto shares = std::to_array<double>({0.5, 0.1, 0.02, 0.002});

StepSequence random_steps(std::uint32_t seed, double share) {
  auto generator = std::make_shared<std::mt19937>(seed);
  return {"random", steps, [=](std::int64_t) { return static_cast<double>((*generator)()) < share * 4294967295.0; }};
}

struct Tally {
  std::size_t conversions = 0, alike = 0, at_bounds = 0, usual = 0;

  void count(const Conversion& conversion) {
    ++conversions;
    ++(!conversion.divergence ? alike : conversion.usual_divergence ? usual : at_bounds);
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} conversions: {} go on alike, {} part at bounds alone, {} in usual steps", conversions, alike,
                       at_bounds, usual);
  }
};

/// The rules side by side on random steps: equal, or at least up to the step that the report names.
void require_promise(const rule::RunningState& source, const Conversion& conversion, std::uint32_t seed) {
  const rule::RunningState resumed = start_from(conversion.resumed);
  for (const double share : shares) {
    const auto parted = first_divergence(source, resumed, random_steps(seed, share));
    if (!parted) continue;
    INFO("share " << share << ", " << sentence(*parted));
    INFO((conversion.divergence ? sentence(*conversion.divergence) : "promised: alike"));
    CHECK(conversion.divergence.has_value());
    if (conversion.divergence) CHECK(parted->step >= conversion.divergence->step);
  }
}

std::uint32_t seed_of(const rule::PolicySpec& from, std::string_view to, std::uint32_t set) {
  return static_cast<std::uint32_t>(std::hash<std::string>{}(fmt::format("{} {} {}", full_name(from), to, set)));
}

bool is_run_by_overflows(const rule::PolicySpec& spec) {
  return spec.driver == rule::Driver::overflow;
}

Tally try_states(std::uint32_t first_set, std::uint32_t sets, std::uint32_t every) {
  Tally tally;
  std::uint32_t number = 0;
  for (const rule::PolicySpec& from : rule::policies()) {
    for (const rule::PolicySpec& to : rule::policies()) {
      for (std::uint32_t set = first_set; set < first_set + sets; ++set) {
        if (!is_run_by_overflows(from) || !is_run_by_overflows(to) || ++number % every != 0) continue;
        const std::uint32_t seed = seed_of(from, full_name(to), set);
        const rule::RunningState source = RandomScaler(seed)(from);
        INFO(full_name(from) << " to " << full_name(to) << ", set " << set << ", seed " << seed);
        const Conversion conversion = convert(to_state(source), {std::string(to.name), std::string(to.variant), {}});
        tally.count(conversion);
        require_promise(source, conversion, seed);
      }
    }
  }
  return tally;
}

/// What the file of a migration holds, read from its bytes.
ScalerState in_file(const NewFilePlan& plan, const std::string& path) {
  const auto file = open_container(std::make_shared<const MemorySource>(path, plan.contents));
  std::vector<Finding> findings;
  const auto scalers = find_scalers(file->tree(), {path}, findings);
  REQUIRE(scalers.size() == 1);
  return to_state(scalers.front());
}

/// Nothing that the report calls carried is missing in the file, and nothing of the source is left out of the report.
void require_account(const rule::RunningState& source, const NewFilePlan& plan, const ScalerState& file) {
  const ScalerState given = to_state(source);
  for (const ConvertedValue& value : plan.migration.conversion.values) {
    if (!value.key.starts_with("fields.") || value.outcome == Outcome::lost || value.outcome == Outcome::implied)
      continue;
    if (value.outcome == Outcome::defaulted) continue;
    INFO(name(value.outcome) << " " << value.key);
    CHECK(find(file, value.key) != nullptr);
  }
  for (const auto& field : given.fields) {
    const std::string key = "fields." + field.name;
    const auto& values = plan.migration.conversion.values;
    INFO(key << " is not accounted for");
    CHECK(std::any_of(values.begin(), values.end(), [&](const ConvertedValue& v) { return v.source_key == key; }));
  }
}

std::vector<StateTemplate> all_templates() {
  std::vector<StateTemplate> all;
  for (const Dialect* dialect : dialects()) all.insert(all.end(), dialect->templates.begin(), dialect->templates.end());
  return all;
}

Tally try_files(std::uint32_t first_set, std::uint32_t sets, std::uint32_t every) {
  Tally tally;
  std::uint32_t number = 0;
  for (const rule::PolicySpec& from : rule::policies()) {
    for (const StateTemplate& to : all_templates()) {
      for (std::uint32_t set = first_set; set < first_set + sets; ++set) {
        if (!is_run_by_overflows(from) || ++number % every != 0) continue;
        const std::uint32_t seed = seed_of(from, to.name, set);
        const rule::RunningState source = RandomScaler(seed)(from);
        const std::string path = "scaler" + std::string(to.endings.substr(0, to.endings.find(' ')));
        INFO(full_name(from) << " to a file of " << to.name << ", set " << set << ", seed " << seed);
        const NewFilePlan plan = plan_new_file(to_state(source), std::string(to.name), path, {});
        tally.count(plan.migration.conversion);
        require_promise(source, plan.migration.conversion, seed);
        require_account(source, plan, in_file(plan, path));
      }
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("A state in another policy's terms goes on as the report promises: a sample of all pairs and parameters") {
  CHECK(try_states(0, 1, 3).conversions > 200);
}

TEST_CASE("A framework's file is resumed as the report promises: a sample of all pairs and parameters") {
  CHECK(try_files(0, 1, 2).conversions > 200);
}

TEST_CASE(
    "Where factors are small, the way to a bound is gone to its end: no random steps part before the report says so") {
  const struct {
    std::uint32_t seed;
    const char *from, *to;
  } found[] = {{2029304490, "mindspore", "tf_keras"}, {1020193067, "tf_keras", "mindspore"}};
  for (const auto& [seed, from, to] : found) {
    INFO(from << " to " << to);
    const rule::RunningState source = RandomScaler(seed)(*rule::find_policy(from));
    require_promise(source, convert(to_state(source), {to, {}, {}}), seed);
  }
}

TEST_CASE("The whole: all ordered pairs of policies and frameworks with 20 sets of parameters each", "[.whole]") {
  WARN(try_states(0, 20, 1).text());
  WARN(try_files(0, 20, 1).text());
}

}  // namespace tare
