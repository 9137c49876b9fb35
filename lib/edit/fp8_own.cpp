#include "lib/edit/fp8_own.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/edit/fp8_keys.hpp"
#include "lib/state/fp8_set.hpp"

namespace tare {
namespace {

std::string renamed_slot(const std::string& name, std::string_view from, std::string_view to) {
  const std::size_t slash = std::min(name.rfind('/'), name.size());
  return renamed(name.substr(0, slash), from, to) + name.substr(slash);
}

}  // namespace

std::vector<NewField> renamed_slots(const FoundScaler& state, const Fp8Choice& choice, std::string_view from,
                                    std::string_view to) {
  const Field* slots = state.find(std::string_view(fmt::format("params.{}", fp8_slots_key)));
  const auto* names = slots == nullptr ? nullptr : std::get_if<ValueList>(&slots->value.data);
  if (names == nullptr) return {};
  ValueList after = *names;
  std::set<std::string> taken, chosen;
  for (const Fp8Slot& slot : fp8_slots(state, choice.layer)) chosen.insert(slot.role);
  for (Value& value : after) {
    auto* name = std::get_if<std::string>(&value.data);
    if (name == nullptr) return {};
    if (chosen.contains(*name)) *name = renamed_slot(*name, from, to);
    if (taken.insert(*name).second) continue;
    throw Error(Status::refused, fmt::format("two slots would be called '{}'", *name),
                "only one of them can be found by that name");
  }
  if (same(Value{after, {}}, Value{*names, {}})) return {};
  return {{slots->name, {std::move(after), slots->value.type}, NewNone()}};
}

std::vector<NewField> resized_slots(const FoundScaler& state, std::int64_t length) {
  const std::vector<Fp8Slot> slots = fp8_slots(state);
  const Field* history = slots.empty() ? nullptr : slots.front().history;
  const auto* array = history == nullptr ? nullptr : std::get_if<PackedArray>(&history->value.data);
  if (array == nullptr) return {};
  const auto wanted = static_cast<std::uint64_t>(length);
  const std::size_t size = array->type.size;
  Bytes elements(slots.size() * wanted * size);
  for (std::uint64_t row = 0; row < slots.size(); ++row) {
    const Fp8Slot& slot = slots[row];
    const std::uint64_t before = slot.history_length();
    const std::uint64_t running = 2 - finished_entries(slot.order, 2);  // 1 where entry 0 is the amax in progress
    const auto copy = [&](std::uint64_t from, std::uint64_t to) {
      std::copy_n(array->bytes().begin() + static_cast<std::ptrdiff_t>(slot.history_index(from) * size), size,
                  elements.begin() + static_cast<std::ptrdiff_t>((row * wanted + to) * size));
    };
    if (running == 1) copy(0, 0);
    for (std::uint64_t age = 0; age < std::min(before, wanted) - running; ++age) {
      copy(entry_of_age(slot.order, before, age), entry_of_age(slot.order, wanted, age));
    }
  }
  const std::vector<std::int64_t> shape{std::ssize(slots), length};
  const PackedArray after{array->type, shape, elements};
  const std::string_view type = history->value.type;
  return {{history->name,
           {after, fmt::format("{}[{}]", type.substr(0, type.find('[')), fmt::join(shape, ","))},
           NewTensor{shape, std::move(elements)}}};
}

bool stays_in_place(const NewField& field) {
  return !std::holds_alternative<NewTensor>(field.data) && !std::holds_alternative<NewNone>(field.data);
}

}  // namespace tare
