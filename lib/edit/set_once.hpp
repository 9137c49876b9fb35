// Values given to FP8 state in one edit: each element has one that sets it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/edit/fp8_values.hpp"
#include "lib/edit/request.hpp"

namespace tare {

/// Which assignment sets which elements of a state's fields. Borrows the assignments.
class SetOnce {
 public:
  /// Of the state at that path.
  explicit SetOnce(std::string_view path) : path_(path) {}

  /// Notes what `assignment` makes of fields. Throws `invalid_argument` where another one sets one of their elements,
  /// if to the same value.
  void add(const Assignment& assignment, const std::vector<NewField>& fields);

 private:
  void add(const Assignment& assignment, const NewField& field, std::uint64_t index);

  std::string path_;
  std::map<std::string, std::vector<const Assignment*>> setters_;  ///< by field and element
};

}  // namespace tare
