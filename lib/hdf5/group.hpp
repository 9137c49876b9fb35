// HDF5: what a group holds, however it keeps it: in a B-tree of symbol tables, or in link messages (specification
// III.A.1, III.B, III.C, IV.A.2.g).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/hdf5/header.hpp"

namespace tare {

/// What a link by a path inside the file is called.
inline constexpr std::string_view hdf5_soft_link = "soft link";

struct Hdf5Link {
  std::string name;
  std::uint64_t header = hdf5_no_address;   ///< address of the object's header; none for a link by name
  std::optional<std::uint64_t> order = {};  ///< in which the group's links were made, where it is kept
  std::string_view by_name = {};            ///< what kind of link leads by name: "soft link" ...; static
  std::string target = {};                  ///< of a soft link in a symbol table: the path that it leads to
};

bool is_hdf5_group(const Hdf5Header& header);

/// The links of a group. What of them cannot be read is told as findings at `path`. Throws Hdf5NotRead where none can.
std::vector<Hdf5Link> read_hdf5_links(Hdf5File& file, const Hdf5Header& header, const std::string& path);

}  // namespace tare
