// A checkpoint of several files, opened for what all of it can do: a reader of scalers leaves most of it out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/checkpoint/several_files.hpp"
#include "lib/container/container.hpp"

namespace tare {

/// A value of a distributed checkpoint, which stands by itself.
struct WholeItem {
  std::string key;
  std::shared_ptr<const Source> bytes;
  bool is_read = false;  ///< its names and nested values are among the container's
};

struct WholeItems {
  std::unique_ptr<const Container> container;
  std::vector<std::string> parts;  ///< files of the folder that mean nothing by themselves
  std::vector<WholeItem> items;
  std::vector<std::string> doubts;  ///< bytes of the parts that are in no item, items that cannot be looked at
};

/// Throws what opening throws.
WholeItems open_whole_items(const SeveralFiles& format, const std::shared_ptr<const SourceFolder>& folder,
                            const std::string& name);

}  // namespace tare
