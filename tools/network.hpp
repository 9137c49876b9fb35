// What `tare`, static and without a network, leaves to `tare-remote`, the same command with libcurl and a loader: which
// takes over where a URL is read, or a state in HDF5 is written.
#pragma once

#include <string>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/object_layer.hpp"

/// Before anything else: what a take-over passes on.
void keep_arguments(char** arguments);

/// Where a verb that reads `path` needs a network: in `tare` runs the whole command in `tare-remote` instead, and comes
/// back only to throw `io` where that cannot be started. In `tare-remote`: nothing.
void reach(const std::string& path);
/// The same for each of `paths`; what they stand for where they are in an object store, or in the file system, and have
/// wildcards. Throws as paths_matching.
std::vector<std::string> reached(const std::vector<std::string>& paths);
/// As reach(), where a state goes to `path` and is HDF5 by its name.
void reach_output(const std::string& path);

/// The objects of the store that `path` is in, which can be changed; null for any other. Borrowed, for the life of the
/// process.
tare::ObjectLayer* changeable_objects(const std::string& path);
/// The same of a path that is to be changed: null in the file system. Throws `refused` for a URL whose objects cannot
/// be, and for standard input.
tare::ObjectLayer* objects_to_change(const std::string& path);

/// Each of `paths` that is to be changed once, in their order; as reached() where they are in a store that takes
/// changes, or in the file system.
std::vector<std::string> paths_to_change(const std::vector<std::string>& paths);

/// The storage that `path` is in. Borrowed, for the life of the process.
const tare::Files& files_of(const std::string& path);
