#include "lib/container/orbax/ocdbt_manifest.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/varint.hpp"

namespace tare {
namespace {

constexpr std::uint64_t uuid_size = 16;
constexpr std::uint64_t most_arity_log2 = 16;
constexpr std::uint64_t time_size = sizeof(std::uint64_t);

enum ManifestKind : std::uint64_t { single = 0, numbered = 1 };

void read_configuration(OcdbtColumns& columns, OcdbtManifest& manifest, const std::string& name) {
  columns.run(uuid_size);
  const std::uint64_t kind = columns.number().value;
  columns.column(2);  // how large inline values and decoded nodes may be
  manifest.arity_log2 = columns.byte();
  const std::uint64_t compression = columns.number().value;
  if (compression == 1) {
    const ByteView level = columns.bytes(columns.run(sizeof(std::int32_t)));
    manifest.zstd_level = static_cast<int>(load_le<std::int32_t>(level.data()));
  }
  if (manifest.arity_log2 == 0 || manifest.arity_log2 > most_arity_log2) columns.fail("a bad configuration");
  if (kind == ManifestKind::single && compression <= 1) return;
  throw Error(Status::unsupported,
              fmt::format("{}: an OCDBT database {}, which tare does not read", name,
                          kind == ManifestKind::single ? "compressed another way" : "with numbered manifests"));
}

void read_versions(OcdbtColumns& columns, OcdbtManifest& manifest) {
  auto& versions = manifest.versions;
  const std::uint64_t count = columns.rows();
  columns.budget().take_memory(count * sizeof(OcdbtVersion));
  versions.resize(count);
  if (versions.empty()) columns.fail("no version");
  const auto column = [&](std::uint64_t OcdbtVersion::*member) {
    for (OcdbtVersion& version : versions) version.*member = columns.number().value;
  };
  column(&OcdbtVersion::generation);
  for (OcdbtVersion& version : versions) version.height = columns.byte();
  column(&OcdbtVersion::file);
  for (OcdbtVersion& version : versions) version.root.offset = columns.number().value;
  for (OcdbtVersion& version : versions) version.root.size = columns.number().value;
  column(&OcdbtVersion::keys);
  column(&OcdbtVersion::tree_bytes);
  column(&OcdbtVersion::indirect_bytes);
  for (OcdbtVersion& version : versions) {
    version.commit_time = load_le<std::uint64_t>(columns.bytes(columns.run(time_size)).data());
  }
}

Bytes encoded(const std::vector<OcdbtVersion>& versions) {
  Bytes bytes;
  const auto column = [&](const auto& number_of) {
    for (const OcdbtVersion& version : versions) append_varint(bytes, number_of(version));
  };
  append_varint(bytes, versions.size());
  column([](const OcdbtVersion& v) { return v.generation; });
  for (const OcdbtVersion& version : versions) bytes.push_back(static_cast<std::byte>(version.height));
  column([](const OcdbtVersion& v) { return v.file; });
  column([](const OcdbtVersion& v) { return v.root.offset; });
  column([](const OcdbtVersion& v) { return v.root.size; });
  column([](const OcdbtVersion& v) { return v.keys; });
  column([](const OcdbtVersion& v) { return v.tree_bytes; });
  column([](const OcdbtVersion& v) { return v.indirect_bytes; });
  for (const OcdbtVersion& version : versions) append_le(bytes, version.commit_time);
  return bytes;
}

}  // namespace

OcdbtManifest read_ocdbt_manifest(ByteView file, const std::string& name, Budget& budget) {
  const Bytes body = ocdbt_body(file, ocdbt_manifest_magic, limits::max_small_text_bytes, name, budget);
  OcdbtColumns columns(body, name, budget);
  OcdbtManifest manifest;
  read_configuration(columns, manifest, name);
  manifest.files = ocdbt_files(columns, {});
  const auto at = [&] { return body.begin() + static_cast<std::ptrdiff_t>(columns.at()); };
  manifest.before_versions.assign(body.begin(), at());
  read_versions(columns, manifest);
  manifest.behind_versions.assign(at(), body.end());
  if (manifest.versions.back().file >= manifest.files.size()) columns.fail("a version in a file that is not named");
  return manifest;
}

Bytes with_version(const OcdbtManifest& manifest, const OcdbtVersion& version) {
  // As the format has it: at most (generation - 1) % (1 << arity_log2) + 1 of them, the last one's generation.
  const bool opens_another = (version.generation - 1) % (std::uint64_t{1} << manifest.arity_log2) == 0;
  std::vector<OcdbtVersion> versions = opens_another ? std::vector<OcdbtVersion>() : manifest.versions;
  versions.push_back(version);
  Bytes body = manifest.before_versions;
  for (const Bytes& part : {encoded(versions), manifest.behind_versions}) {
    body.insert(body.end(), part.begin(), part.end());
  }
  return ocdbt_envelope(ocdbt_manifest_magic, body, manifest.zstd_level);
}

}  // namespace tare
