#include "lib/checkpoint/difference.hpp"

#include <algorithm>

namespace tare {
namespace {

using Scalers = std::vector<const FoundScaler*>;

/// With the file where several hold FP8 state of one path.
std::string place_of(const FoundScaler& scaler) {
  return scaler.in_file ? *scaler.in_file + ":" + scaler.path : scaler.path;
}

bool is_same_place(const FoundScaler& a, const FoundScaler& b) {
  return a.dialect == b.dialect && place_of(a) == place_of(b);
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

std::ptrdiff_t count_of(const Scalers& scalers, const Dialect* dialect) {
  return std::count_if(scalers.begin(), scalers.end(), [&](const FoundScaler* s) { return s->dialect == dialect; });
}

template <typename Matches>
const FoundScaler* take(Scalers& from, const Matches& matches) {
  const auto found = std::find_if(from.begin(), from.end(), matches);
  if (found == from.end()) return nullptr;
  const FoundScaler* taken = *found;
  from.erase(found);
  return taken;
}

void compare(const FoundScaler& a, const FoundScaler& b, std::vector<Difference>& out) {
  const std::string dialect(a.dialect->name);
  for (const Field& field : a.fields) {
    const Field* other = b.find(std::string_view(field.name));
    if (other != nullptr && same(field.value, other->value)) continue;
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
    const bool is_pair = count_of(unmatched, scaler->dialect) == 1 && count_of(right, scaler->dialect) == 1;
    const auto* other =
        is_pair ? take(right, [&](const FoundScaler* s) { return s->dialect == scaler->dialect; }) : nullptr;
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
