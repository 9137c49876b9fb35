// What an edit does to one file: what its states and places are to become, turned into changes of its nodes, and held
// against what was asked for before a byte is written.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "lib/checkpoint/reopened.hpp"
#include "lib/edit/plan.hpp"
#include "lib/edit/state_work.hpp"

namespace tare {

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
