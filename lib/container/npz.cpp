#include "lib/container/npz.hpp"

#include <algorithm>

#include "lib/container/recognised.hpp"
#include "lib/container/zip_members.hpp"

namespace tare {

bool is_npz(const ZipArchive& archive) {
  const auto& entries = archive.entries();
  return !entries.empty() && std::all_of(entries.begin(), entries.end(),
                                         [](const ZipEntry& entry) { return entry.name.ends_with(".npy"); });
}

std::unique_ptr<Container> open_npz(std::unique_ptr<const ZipArchive> archive) {
  return recognised("npz", "numpy .npz", check_members(*archive));
}

}  // namespace tare
