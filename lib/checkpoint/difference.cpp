#include "lib/checkpoint/difference.hpp"

#include <algorithm>
#include <iterator>

#include "lib/dialect/frameworks/tare.hpp"

namespace tare {
namespace {

using Scalers = std::vector<const FoundScaler*>;

/// With the file where several hold FP8 state of one path.
std::string place_of(const FoundScaler& scaler) {
  return scaler.in_file ? *scaler.in_file + ":" + scaler.path : scaler.path;
}

/// A framework's FP8 state has several dialects: what stands beside it tells which one reads it.
bool is_of_same_kind(const Dialect& a, const Dialect& b) {
  return &a == &b || (a.kind == "fp8" && a.kind == b.kind && a.name == b.name);
}

bool is_same_place(const FoundScaler& a, const FoundScaler& b) {
  return is_of_same_kind(*a.dialect, *b.dialect) && place_of(a) == place_of(b);
}

/// Each distinct place once.
Scalers places_of(const Checkpoint& checkpoint) {
  Scalers scalers;
  for (const Scaler& scaler : checkpoint.scalers) {
    const FoundScaler& state = scaler.state();
    const bool is_known =
        std::any_of(scalers.begin(), scalers.end(), [&](const FoundScaler* s) { return is_same_place(*s, state); });
    if (!is_known) scalers.push_back(&state);
  }
  return scalers;
}

std::ptrdiff_t count_of(const Scalers& scalers, const Dialect& dialect) {
  return std::ranges::count_if(scalers, [&](const FoundScaler* s) { return is_of_same_kind(*s->dialect, dialect); });
}

template <typename Matches>
const FoundScaler* take(Scalers& from, const Matches& matches) {
  const auto found = std::find_if(from.begin(), from.end(), matches);
  if (found == from.end()) return nullptr;
  const FoundScaler* taken = *found;
  from.erase(found);
  return taken;
}

std::vector<std::int64_t> shape_of(const Value& value) {
  if (const auto* packed = std::get_if<PackedArray>(&value.data)) return packed->shape();
  const auto* list = std::get_if<ValueList>(&value.data);
  if (list == nullptr) return {};
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(list->size())};
  if (!list->empty()) std::ranges::copy(shape_of(list->front()), std::back_inserter(shape));
  return shape;
}

/// What it holds, in order, without the types' names.
void add_elements(const Value& value, ValueList& elements) {
  if (const auto* packed = std::get_if<PackedArray>(&value.data)) {
    for (std::uint64_t i = 0; i < packed->count(); ++i) elements.push_back({packed->at(i).data, {}});
  } else if (const auto* list = std::get_if<ValueList>(&value.data)) {
    for (const Value& one : *list) add_elements(one, elements);
  } else {
    elements.push_back({value.data, {}});
  }
}

/// A state of tare's says the same in JSON, which has no types of arrays, and in HDF5.
bool says_the_same(const Value& a, const Value& b) {
  if (shape_of(a) != shape_of(b)) return false;
  ValueList of_a, of_b;
  add_elements(a, of_a);
  add_elements(b, of_b);
  return std::ranges::equal(of_a, of_b, same);
}

bool is_alike(const FoundScaler& a, const Value& of_a, const FoundScaler& b, const Value& of_b) {
  return same(of_a, of_b) || (is_own(a) && is_own(b) && says_the_same(of_a, of_b));
}

void compare(const FoundScaler& a, const FoundScaler& b, std::vector<Difference>& out) {
  const std::string dialect(a.dialect->name);
  for (const Field& field : a.fields) {
    const Field* other = b.find(std::string_view(field.name));
    if (other != nullptr && is_alike(a, field.value, b, other->value)) continue;
    out.push_back({dialect, place_of(a), field.name, field.value, std::nullopt});
    if (other != nullptr) out.back().b = other->value;
  }
  for (const Field& field : b.fields) {
    if (a.find(std::string_view(field.name)) == nullptr) {
      out.push_back({dialect, place_of(a), field.name, std::nullopt, field.value});
    }
  }
}

Value whole(const FoundScaler& scaler) {
  return {std::monostate(), std::string(scaler.dialect->name)};
}

}  // namespace

std::vector<Difference> differences(const Checkpoint& a, const Checkpoint& b) {
  std::vector<Difference> out;
  Scalers left = places_of(a);
  Scalers right = places_of(b);
  Scalers unmatched;
  for (const FoundScaler* scaler : left) {
    const auto* other = take(right, [&](const FoundScaler* s) { return is_same_place(*s, *scaler); });
    if (other == nullptr) {
      unmatched.push_back(scaler);
    } else {
      compare(*scaler, *other, out);
    }
  }
  for (const FoundScaler* scaler : unmatched) {
    const bool is_pair = count_of(unmatched, *scaler->dialect) == 1 && count_of(right, *scaler->dialect) == 1;
    const auto* other =
        is_pair ? take(right, [&](const FoundScaler* s) { return is_of_same_kind(*s->dialect, *scaler->dialect); })
                : nullptr;
    if (other == nullptr) {
      out.push_back({std::string(scaler->dialect->name), place_of(*scaler), {}, whole(*scaler), std::nullopt});
    } else {
      compare(*scaler, *other, out);
    }
  }
  for (const FoundScaler* scaler : right) {
    out.push_back({std::string(scaler->dialect->name), place_of(*scaler), {}, std::nullopt, whole(*scaler)});
  }
  return out;
}

}  // namespace tare
