#include "lib/container/zip/members.hpp"

#include <fmt/format.h>

#include "lib/base/crc32.hpp"
#include "lib/base/distant_window.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/read_ahead.hpp"
#include "lib/container/preview.hpp"

namespace tare {
namespace {

constexpr std::uint64_t checked_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t bomb_ratio = 100;  ///< as Keras has it

void check_size(const ZipArchive& archive, const ZipEntry& entry) {
  if (entry.size <= limits::max_inflated_bytes || entry.size / bomb_ratio <= entry.stored_size) return;
  throw Error(Status::refused,
              fmt::format("{}: {} bytes that unpack to {}", archive.label(entry), entry.stored_size, entry.size),
              "no framework writes such a file; do not unpack it");
}

}  // namespace

std::vector<Finding> check_members(const ZipArchive& archive) {
  std::vector<Finding> findings = archive.findings();
  const auto warn = [&](std::string_view code, std::string message) {
    if (findings.size() > limits::max_alike_findings) return;
    findings.push_back({Severity::warning, std::string(code), std::move(message), {}, {}});
  };
  const ReadAhead view(archive.shared_source());
  std::uint64_t checked = 0;
  for (const ZipEntry& entry : archive.entries()) {
    check_size(archive, entry);
    if (const std::string_view problem = name_problem(entry.name); !problem.empty()) {
      warn("unsafe-name", fmt::format("the entry name '{}' {}", entry.name, problem));
    }
    checked += std::max(entry.size, entry.stored_size);
    if (checked > checked_bytes) continue;
    if (crc32(archive.read(entry, checked_bytes, view)) != entry.crc) {
      warn("crc-mismatch", fmt::format("{}: its CRC-32 does not match", entry.name));
    }
  }
  if (const ZipEntry* twin = archive.duplicate()) {
    warn("duplicate-entry", fmt::format("'{}' is there twice: readers differ in which they take", twin->name));
  }
  return findings;
}

std::shared_ptr<const Source> open_member(const ZipArchive& archive, const ZipEntry& entry) {
  if (entry.is_stored()) {
    return window_of(archive.shared_source(), archive.record(entry).payload, archive.label(entry));
  }
  return std::make_shared<MemorySource>(archive.label(entry), archive.read(entry, limits::max_inflated_bytes),
                                        archive.source().budget());
}

std::string former_name(const ZipEntry& entry) {
  return fmt::format("{} (an earlier version)", entry.name);
}

void change_member(ZipChange& change, const ZipArchive& archive, const ZipEntry& entry, const FileChange& inner,
                   std::string_view meaning) {
  if (archive.duplicate() != nullptr) {
    throw Error(Status::refused,
                fmt::format("{}: '{}' is there twice: readers differ in which they take", archive.source().name(),
                            archive.duplicate()->name),
                "load and save the checkpoint with its framework first");
  }
  if (entry.is_stored() && !inner.append && !inner.splice) {
    const std::uint64_t payload = archive.record(entry).payload.offset;
    for (const Patch& patch : inner.patches) {
      change.patch({payload + patch.offset, patch.after.size()}, patch.after, patch.meaning);
    }
    return;
  }
  const PreviewSource changed(open_member(archive, entry), inner);
  if (changed.size() > limits::max_inflated_bytes) {
    throw Error(Status::refused,
                fmt::format("{}: {} bytes would have to be written anew", archive.label(entry), changed.size()),
                "load and save the checkpoint with its framework first");
  }
  change.replace(entry, changed.read({0, changed.size()}), meaning);
}

}  // namespace tare
