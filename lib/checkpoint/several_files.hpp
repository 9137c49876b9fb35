// Checkpoints that are several files: which of them stands for the whole, which are its parts, who opens it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/finding.hpp"
#include "lib/container/container.hpp"
#include "lib/container/source_folder.hpp"

namespace tare {

/// A checkpoint of several files, opened: of it is read what can be scaler state.
struct OpenedWhole {
  std::unique_ptr<Container> container;
  std::string contents;                ///< what is stored there, in words
  std::vector<std::string> all_files;  ///< that belong to it, read or not
  std::vector<Finding> findings;       ///< of the whole: what is missing for its framework
};

/// One such format. Names are those of files in one folder.
struct SeveralFiles {
  std::string_view framework;  ///< as sentences name it
  /// Is it the file that the whole is opened by?
  bool (*is_whole)(std::string_view file_name);
  /// Is it one of the others, which mean nothing by themselves?
  bool (*is_part)(std::string_view file_name);
  /// The files that the whole may be opened by of which `name` is a part, or the short name; best first.
  std::vector<std::string> (*wholes_of)(std::string_view name);
  OpenedWhole (*open)(const std::shared_ptr<const SourceFolder>& folder, const std::string& whole);
  std::string_view parts_are;  ///< ".distcp files"
  std::string_view whole_is;   ///< ".metadata"
  /// The file that counts where it lies beside several that are `is_whole`; empty: each counts.
  std::string_view overruling = {};
  /// A part without the whole beside it is a file of its own.
  bool parts_stand_alone = false;
  /// The whole is a document by itself, and is attested as one: what it names is what a loader runs.
  bool whole_stands_alone = false;
  bool owns_folders = false;  ///< all that lies beside the whole belongs to it, folders too
  /// Of the folders beside the whole those that can hold state: no other one is ever changed. Null: any can.
  std::vector<std::string> (*state_folders)(const std::vector<std::string>& folders) = nullptr;
};

std::span<const SeveralFiles> several_files();

/// The format of which that file is the whole, or a part; null where there is none.
const SeveralFiles* format_of_whole(std::string_view file_name);
const SeveralFiles* format_of_part(std::string_view file_name);
/// Without the parts of wholes that are among them.
std::vector<FileEntry> without_parts(std::vector<FileEntry> entries);
/// A whole or a part: it stands for the whole in its folder.
bool is_of_several_files(std::string_view file_name);

/// What is said of the folder `path`, which has parts of that format and nothing that opens them.
std::string without_whole(std::string_view path, const SeveralFiles& format);

}  // namespace tare
