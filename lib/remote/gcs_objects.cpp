#include "lib/remote/gcs_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr long not_found = 404, precondition_failed = 412;

/// Header lines of an object that belong to it, and that a new version is given.
constexpr auto own_lines = std::to_array<std::string_view>({
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "x-goog-custom-time",
    "x-goog-storage-class",
});
constexpr std::string_view metadata_prefix = "x-goog-meta-";
constexpr const char* generation_line = "x-goog-if-generation-match: ";
constexpr const char* no_object = "0";

}  // namespace

ObjectSeen GcsObjects::seen_in(const HttpAnswer& answer) const {
  ObjectSeen seen = tagged(answer);
  for (const std::string& line : answer.lines) {
    const std::string name = name_of_line(line);
    const bool is_own = std::ranges::find(own_lines, name) != own_lines.end();
    if (is_own || name.starts_with(metadata_prefix)) seen.properties.push_back(name + ": " + value_of_line(line));
    if (name == "content-length") seen.size = number_of_line(line);
    if (name == "x-goog-generation") seen.kept = value_of_line(line);
  }
  return seen;
}

bool GcsObjects::is_other_now(const HttpAnswer& answer) const {
  return answer.status == not_found || answer.status == precondition_failed;
}

std::optional<ObjectSeen> GcsObjects::create(const std::string& path, ByteView bytes) {
  return put(path, "", bytes, {std::string(generation_line) + no_object});
}

std::optional<ObjectSeen> GcsObjects::replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) {
  if (seen.kept.empty()) {
    throw Error(Status::refused,
                path + ": the server tells no generation of it, so that another's change would be lost",
                "download it, edit that, and upload it");
  }
  std::vector<std::string> lines = seen.properties;
  lines.push_back(std::string(generation_line) + seen.kept);
  return put(path, "", bytes, std::move(lines));
}

void GcsObjects::require_parts(const std::string& path, const ObjectSeen& seen) const {
  throw Error(Status::refused,
              fmt::format("{}: Google's store copies no part of an object into another, so that all of its {} bytes "
                          "would have to be sent",
                          path, seen.size),
              "download the checkpoint, edit that, and upload the files that the edit names");
}

std::string GcsObjects::begin(const std::string& path, const ObjectSeen& seen) {
  require_parts(path, seen);
  return {};
}

std::optional<ObjectSeen> GcsObjects::compose(const std::string& path, const ObjectSeen& seen, const std::string&,
                                              const std::vector<ObjectPart>&, const NewBytes&,
                                              const std::function<void()>&) {
  require_parts(path, seen);
  return std::nullopt;
}

}  // namespace tare
