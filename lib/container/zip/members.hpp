// Zips of frameworks that look members up by name (Keras, numpy): what would make two readers see different things, and
// members as files of their own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/container/zip/change.hpp"
#include "lib/container/zip/zip.hpp"

namespace tare {

/// Warnings about names that lead out of a folder, names that are there twice, and small members whose CRC is wrong.
/// Throws `refused` for a member that unpacks to far more than it takes.
std::vector<Finding> check_members(const ZipArchive& archive);

/// A member as a source of its own: a stored one where it lies, a deflated one unpacked. Throws `refused` for a
/// deflated one beyond limits::max_inflated_bytes.
std::shared_ptr<const Source> open_member(const ZipArchive& archive, const ZipEntry& entry);

/// What a document calls a record that only an older directory names.
std::string former_name(const ZipEntry& entry);

/// Makes `inner`, which is meant for the member that open_member gave: bytes that keep their number are patched where
/// they lie, anything else is a new copy of the member.
void change_member(ZipChange& change, const ZipArchive& archive, const ZipEntry& entry, const FileChange& inner,
                   std::string_view meaning);

}  // namespace tare
