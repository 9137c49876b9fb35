#include "lib/monitor/saved.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/state/monitor_state.hpp"

namespace tare::monitor {
namespace {

constexpr std::int64_t version = 1;
constexpr std::int64_t most_steps = std::int64_t{1} << 62;
constexpr double most_looks_in_a_row = 0x1p53;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Status::mismatch, "the monitor's state: " + what, "Load what tare_monitor_save gave, as it was.");
}

// ---- tables: the columns of lists, each by its name

struct CountColumn {
  std::string_view name;
  std::int64_t ScalerSeen::*member;
};
constexpr auto look_counts = std::to_array<CountColumn>({{"looks.steps", &ScalerSeen::steps},
                                                         {"looks.skipped", &ScalerSeen::skipped},
                                                         {"looks.growths", &ScalerSeen::growths},
                                                         {"looks.backoffs", &ScalerSeen::backoffs}});

constexpr std::array layer_streaks{&LayerStreaks::lost, &LayerStreaks::all_zero, &LayerStreaks::torn};
constexpr std::array own_streaks{&Memory::lost, &Memory::low_scale, &Memory::overflowing};

// ---- out

template <class Item, class Of>
StateArray column(const auto& rows, const Of& of) {
  std::vector<Item> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(of(row));
  const std::uint64_t count = values.size();
  return {{count}, std::move(values)};
}

void put_looks(StateSection& fields, const std::vector<Look>& looks) {
  fields.set("looks.step", column<std::int64_t>(looks, [](const Look& look) { return look.step; }));
  fields.set("looks.lost", column<double>(looks, [](const Look& look) {
               return look.lost.value_or(std::numeric_limits<double>::quiet_NaN());
             }));
  fields.set("looks.settled",
             column<std::int64_t>(looks, [](const Look& look) { return std::int64_t{look.scaler.has_value()}; }));
  fields.set("looks.scale",
             column<double>(looks, [](const Look& look) { return look.scaler.value_or(ScalerSeen{}).scale; }));
  for (const CountColumn& counts : look_counts) {
    fields.set(counts.name, column<std::int64_t>(looks, [&](const Look& look) {
                 return look.scaler.value_or(ScalerSeen{}).*counts.member;
               }));
  }
}

void put_streaks(StateSection& fields, const std::string& name, const std::vector<Streak>& streaks) {
  fields.set(name + ".looks", column<double>(streaks, [](const Streak& streak) { return streak.looks; }));
  fields.set(name + ".began", column<std::int64_t>(streaks, [](const Streak& streak) { return streak.began; }));
}

void put_layers(StateSection& fields, const Memory& memory) {
  std::vector<std::string> names;
  names.reserve(memory.layers.size());
  for (const auto& layer : memory.layers) names.push_back(layer.first);
  std::ranges::sort(names);
  std::vector<Streak> streaks;
  for (const std::string& name : names) {
    for (const auto member : layer_streaks) streaks.push_back(memory.layers.at(name).*member);
  }
  put_streaks(fields, "layers", streaks);
  const std::uint64_t count = names.size();
  fields.set("layers.name", StateArray{{count}, std::move(names)});
}

void put_scaler(StateSection& fields, const Memory& memory) {
  std::vector<std::int64_t> counts;
  if (memory.scaler) {
    for (const CountColumn& column : look_counts) counts.push_back((*memory.scaler).*column.member);
  }
  fields.set("scaler.scale", memory.scaler.value_or(ScalerSeen{}).scale);
  fields.set("scaler.counts", StateArray{{counts.size()}, std::move(counts)});
  fields.set("search", StateArray{{2}, std::vector<std::int64_t>{memory.last_skipped, memory.skipped_at}});
  fields.set("settled", memory.is_settled);
  fields.set("has_been_finite", memory.has_been_finite);
  fields.set("stuck.steps", memory.stuck_steps);
  fields.set("stuck.since", memory.stuck_since);
}

// ---- in

const StateValue& value_at(const StateSection& section, const std::string& name) {
  const StateValue* value = section.find(name);
  if (value == nullptr) refuse("it has no \"" + name + "\"");
  return *value;
}

double as_number(const StateValue& value, const std::string& name) {
  return number_of(value, name);
}
std::int64_t as_integer(const StateValue& value, const std::string& name) {
  return integer_of(value, name);
}
std::string as_text(const StateValue& value, const std::string& name) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) refuse(name + " is " + std::string(words_for(kind_of(value))) + ", text is meant");
  return *text;
}

const StateArray& array_at(const StateSection& fields, const std::string& name) {
  const auto* array = std::get_if<StateArray>(&value_at(fields, name));
  if (array == nullptr) refuse(name + " is no list");
  return *array;
}
std::size_t count_at(const StateSection& fields, const std::string& name) {
  return array_at(fields, name).size();
}

/// As many as `count`. An array of nan alone comes as texts out of JSON.
template <class Item>
std::vector<Item> list_at(const StateSection& fields, const std::string& name, std::size_t count, const auto& convert) {
  const StateArray& array = array_at(fields, name);
  if (array.size() != count) refuse(fmt::format("{} has {} values, {} are meant", name, array.size(), count));
  std::vector<Item> items;
  items.reserve(count);
  std::visit(
      [&](const auto& list) {
        for (const auto& item : list) items.push_back(convert(StateValue(static_cast<StateValue>(item)), name));
      },
      array.values);
  return items;
}

std::vector<double> numbers_at(const StateSection& fields, const std::string& name, std::size_t count) {
  return list_at<double>(fields, name, count, as_number);
}
std::vector<std::int64_t> integers_at(const StateSection& fields, const std::string& name, std::size_t count) {
  return list_at<std::int64_t>(fields, name, count, as_integer);
}
std::int64_t integer_at(const StateSection& fields, const std::string& name) {
  return integer_of(value_at(fields, name), name);
}
bool flag_at(const StateSection& fields, const std::string& name) {
  return integer_at(fields, name) != 0;
}

/// A number of looks or steps in a row.
double row_of(double number, const std::string& name) {
  if (number >= 0 && number <= most_looks_in_a_row) return number;
  refuse(fmt::format("{} has {}, no number of things in a row", name, float_text(number)));
}

std::vector<Streak> streaks_at(const StateSection& fields, const std::string& name, std::size_t count) {
  const std::vector<double> looks = numbers_at(fields, name + ".looks", count);
  const std::vector<std::int64_t> began = integers_at(fields, name + ".began", count);
  std::vector<Streak> streaks;
  streaks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) streaks.push_back({row_of(looks[i], name + ".looks"), began[i]});
  return streaks;
}

std::vector<Look> looks_in(const StateSection& fields) {
  const std::size_t count = count_at(fields, "looks.step");
  if (count > most_looks) refuse(fmt::format("looks.step has {} values, {} at most are kept", count, most_looks));
  const std::vector<std::int64_t> steps = integers_at(fields, "looks.step", count);
  if (std::ranges::adjacent_find(steps, std::greater_equal{}) != steps.end()) {
    refuse("the steps in looks.step do not rise");
  }
  const std::vector<double> lost = numbers_at(fields, "looks.lost", count);
  const std::vector<std::int64_t> settled = integers_at(fields, "looks.settled", count);
  const std::vector<double> scale = numbers_at(fields, "looks.scale", count);
  std::vector<Look> looks(count);
  for (std::size_t i = 0; i < count; ++i) {
    looks[i].step = steps[i];
    if (lost[i] >= 0 && lost[i] <= 1) looks[i].lost = lost[i];
    if (settled[i] != 0) looks[i].scaler = ScalerSeen{scale[i]};
  }
  for (const CountColumn& counts : look_counts) {
    const std::vector<std::int64_t> values = integers_at(fields, std::string(counts.name), count);
    for (std::size_t i = 0; i < count; ++i) {
      if (looks[i].scaler) (*looks[i].scaler).*counts.member = values[i];
    }
  }
  return looks;
}

void take_layers(const StateSection& fields, Memory& memory) {
  const std::size_t count = count_at(fields, "layers.name");
  const std::vector<std::string> names = list_at<std::string>(fields, "layers.name", count, as_text);
  const std::vector<Streak> streaks = streaks_at(fields, "layers", count * layer_streaks.size());
  memory.layers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [layer, is_new] = memory.layers.try_emplace(names[i]);
    if (!is_new) refuse("layers.name has \"" + escaped(names[i]) + "\" twice");
    for (std::size_t k = 0; k < layer_streaks.size(); ++k) {
      layer->second.*layer_streaks[k] = streaks[i * layer_streaks.size() + k];
    }
  }
}

void take_scaler(const StateSection& fields, Memory& memory) {
  if (count_at(fields, "scaler.counts") != 0) {
    const std::vector<std::int64_t> counts = integers_at(fields, "scaler.counts", look_counts.size());
    memory.scaler = ScalerSeen{number_of(value_at(fields, "scaler.scale"), "scaler.scale")};
    for (std::size_t i = 0; i < counts.size(); ++i) (*memory.scaler).*look_counts[i].member = counts[i];
  }
  const std::vector<std::int64_t> search = integers_at(fields, "search", 2);
  memory.last_skipped = search[0];
  memory.skipped_at = search[1];
  memory.is_settled = flag_at(fields, "settled");
  memory.has_been_finite = flag_at(fields, "has_been_finite");
  memory.stuck_steps = row_of(number_of(value_at(fields, "stuck.steps"), "stuck.steps"), "stuck.steps");
  memory.stuck_since = integer_at(fields, "stuck.since");
}

void require_version(const ScalerState& state) {
  if (state.policy != monitor_policy) {
    refuse("its policy is \"" + escaped(state.policy) + "\", a monitor's is \"" + std::string(monitor_policy) + "\"");
  }
  const std::int64_t given = integer_at(state.params, "version");
  if (given == version) return;
  if (given < 1) refuse(fmt::format("version is {}", given));
  throw Error(Status::unsupported,
              fmt::format("the monitor's state: version {} is newer than this tare's, {}", given, version),
              "Load it with a newer tare, or begin with a new monitor.");
}

}  // namespace

ScalerState to_state(const Saved& saved) {
  const Memory& memory = saved.memory;
  ScalerState state;
  state.policy = monitor_policy;
  state.params.set("version", version);
  state.fields.set("steps", saved.steps);
  put_looks(state.fields, memory.looks);
  put_scaler(state.fields, memory);
  std::vector<Streak> own;
  for (const auto member : own_streaks) own.push_back(memory.*member);
  put_streaks(state.fields, "run", own);
  put_layers(state.fields, memory);
  return state;
}

Saved saved_from(const ScalerState& state) {
  require_version(state);
  const StateSection& fields = state.fields;
  Saved saved;
  saved.steps = integer_at(fields, "steps");
  if (saved.steps < 0 || saved.steps > most_steps) refuse(fmt::format("steps is {}", saved.steps));
  saved.memory.looks = looks_in(fields);
  take_scaler(fields, saved.memory);
  const std::vector<Streak> own = streaks_at(fields, "run", own_streaks.size());
  for (std::size_t i = 0; i < own.size(); ++i) saved.memory.*own_streaks[i] = own[i];
  take_layers(fields, saved.memory);
  return saved;
}

}  // namespace tare::monitor
