#include "lib/edit/set_once.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/dialect/called.hpp"
#include "lib/edit/new_value.hpp"

namespace tare {
namespace {

std::string assignment_text(const Assignment& assignment) {
  return fmt::format("{}={}", assignment.key, given_text(assignment.value));
}

/// A field of one number goes by its name.
std::string element_text(const NewField& field, std::uint64_t index) {
  const auto* array = std::get_if<PackedArray>(&field.after.data);
  return array == nullptr || array->count() == 1 ? field.name : fmt::format("element {} of {}", index, field.name);
}

}  // namespace

void SetOnce::add(const Assignment& assignment, const std::vector<NewField>& fields) {
  for (const NewField& field : fields) {
    const auto* elements = std::get_if<NewElements>(&field.data);
    if (elements == nullptr) {
      add(assignment, field, 0);
      continue;
    }
    for (const NewElement& element : *elements) {
      for_each_index(element, [&](std::uint64_t index) { add(assignment, field, index); });
    }
  }
}

void SetOnce::add(const Assignment& assignment, const NewField& field, std::uint64_t index) {
  std::vector<const Assignment*>& setters = setters_[field.name];
  if (index >= setters.size()) setters.resize(index + 1);
  const Assignment*& setter = setters[index];
  if (setter != nullptr && setter != &assignment) {
    throw Error(Status::invalid_argument,
                fmt::format("{}: {} and {} both set {}", called(path_), assignment_text(*setter),
                            assignment_text(assignment), element_text(field, index)),
                "leave one of them out");
  }
  setter = &assignment;
}

}  // namespace tare
