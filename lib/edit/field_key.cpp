#include "lib/edit/field_key.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/nearest.hpp"
#include "lib/dialect/called.hpp"

namespace tare {
namespace {

std::string known_keys(const FoundScaler& scaler) {
  std::string keys;
  for (const Field& field : scaler.fields) {
    if (!keys.empty()) keys += ", ";
    keys += field.name;
    if (field.role && name(*field.role) != field.name) keys += fmt::format(" ({})", name(*field.role));
  }
  return keys;
}

/// The key that was meant: a native name, or a role, also one that is not stored here, which then is told.
std::string meant_instead_of(const FoundScaler& scaler, std::string_view key) {
  std::vector<std::string> words;
  for (const Field& field : scaler.fields) words.push_back(field.name);
  for (const RoleFacts& facts : roles()) words.emplace_back(facts.name);
  return std::string(nearest(key, words));
}

[[noreturn]] void throw_unknown(const FoundScaler& scaler, std::string_view key) {
  const std::string meant = meant_instead_of(scaler, key);
  throw Error(
      Status::invalid_argument, fmt::format("{} ({}) has no '{}'", called(scaler.path), scaler.dialect->framework, key),
      fmt::format("{}it has: {}", meant.empty() ? "" : fmt::format("did you mean '{}'? ", meant), known_keys(scaler)));
}

}  // namespace

const Field& field_of(const FoundScaler& scaler, std::string_view key) {
  const bool is_native = key.starts_with(native_prefix);
  if (is_native) key.remove_prefix(native_prefix.size());
  const auto role = is_native ? std::nullopt : parse_role(key);
  if (role) {
    if (const Field* field = scaler.find(*role)) return *field;
  }
  if (const Field* field = scaler.find(key)) return *field;
  if (!role) throw_unknown(scaler, key);
  throw Error(Status::refused,
              fmt::format("{} does not store {} in a checkpoint", scaler.dialect->framework, name(*role)),
              how_it_is_set(*scaler.dialect, *role));
}

std::vector<const Field*> fields_of(const FoundScaler& scaler, std::string_view key) {
  const Field& first = field_of(scaler, key);
  const bool is_by_role = first.role && parse_role(key) == first.role;
  std::vector<const Field*> fields;
  for (const Field& field : scaler.fields) {
    const bool is_twin = is_by_role && field.role == first.role && field.value.number() != nullptr;
    if (&field == &first || is_twin) fields.push_back(&field);
  }
  return fields;
}

}  // namespace tare
