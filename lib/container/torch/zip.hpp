// What torch.save has written since 1.6: a zip whose entries all lie in one folder, with the objects in `data.pkl` and
// each storage's bytes, raw, in `data/<key>`.
#pragma once

#include <memory>

#include "lib/container/container.hpp"
#include "lib/container/zip/zip.hpp"

namespace tare {

/// Whether the archive has what torch.load looks for: a `data.pkl` in the folder of the first entry.
bool is_torch_zip(const ZipArchive& archive);

/// Throws `corrupt` or `refused` where torch.load would fail, or two readers would find different things.
std::unique_ptr<Container> open_torch_zip(std::unique_ptr<ZipArchive> archive);

}  // namespace tare
