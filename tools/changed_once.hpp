// What one command changes: a checkpoint that two of its paths lead to is changed once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/edit/change.hpp"

/// What a change is of, by names that are the same whatever path led there.
struct ChangedPlaces {
  std::string checkpoint;          ///< empty where it is not known here
  std::vector<std::string> files;  ///< that change
};

ChangedPlaces places_of(const tare::PlannedChange& planned);

class ChangedOnce {
 public:
  /// The earlier path that led to the same checkpoint, or to all of these files; null: none did. Borrowed. Throws
  /// `refused` where it led to some of them.
  [[nodiscard]] const std::string* earlier(const std::string& path, const ChangedPlaces& places) const;
  void add(const std::string& path, const ChangedPlaces& places);

 private:
  std::map<std::string, std::string> checkpoints_, files_;  ///< and the path that led there
};
