// What an edit does to one file: what its states and places are to become, turned into changes of its nodes, and held
// against what was asked for before a byte is written.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/reopened.hpp"
#include "lib/container/node_change.hpp"
#include "lib/edit/fp8_places.hpp"
#include "lib/edit/plan.hpp"
#include "lib/edit/request.hpp"

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

  [[nodiscard]] bool is_renamed() const { return after.path != scaler->state().path; }
};

/// What is to be done in one file, or the files of one container.
struct FileWork {
  std::vector<const StateWork*> states;
  std::vector<PlaceWork> places;
  std::vector<std::size_t> place_entries;  ///< of those in EditPlan::fields, one a place
};

/// What is planned for them.
struct FilePlan {
  std::vector<FileEdit> edits;
  std::vector<std::pair<std::size_t, std::size_t>> holders;  ///< entry in EditPlan::fields, file that holds the field
};

/// Changes of the parts of `opened`, of that checkpoint, as changes of the files that hold them.
std::vector<FileEdit> file_edits(const Checkpoint& checkpoint, const Reopened& opened, std::vector<PartChange> parts);

/// Opens files[`number`] again and plans its changes. Throws what opening throws, and `refused` where it is not the
/// file that was read, where a container cannot take a change, or where the result would not read back as asked.
FilePlan plan_file(const Checkpoint& checkpoint, const EditRequest& request, std::size_t number, const FileWork& work);

}  // namespace tare
