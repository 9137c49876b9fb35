// What an edit is to make of each distinct state, and in which files.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/container/node_change.hpp"
#include "lib/edit/fp8_places.hpp"

namespace tare {

struct FieldWork {
  NodeValue data;    ///< for the container
  std::string note;  ///< for the user, where Python's type changes
};

/// One distinct state, and what its copies are to become.
struct StateWork {
  const Scaler* scaler;
  FoundScaler after;
  std::map<std::size_t, FieldWork> fields;     ///< by number
  std::map<std::size_t, std::size_t> entries;  ///< of those in EditPlan::fields
  bool is_whole = false;                       ///< FP8 state of which more than fields changes
  bool is_anew = false;                        ///< one of tare's own, whose file is written as a whole

  [[nodiscard]] bool is_renamed() const { return after.path != scaler->state().path; }
};

/// What is to be done in one file, or the files of one container.
struct FileWork {
  std::vector<const StateWork*> states;
  std::vector<PlaceWork> places;
  std::vector<std::size_t> place_entries;  ///< of those in EditPlan::fields, one a place
};

}  // namespace tare
