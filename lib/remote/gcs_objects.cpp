#include "lib/remote/gcs_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/parallel.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

/// Header lines of an object that belong to it, and that a new version is given.
constexpr auto google_lines = std::to_array<std::string_view>({
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "x-goog-custom-time",
    "x-goog-storage-class",
});
constexpr std::string_view google_metadata = "x-goog-meta-";
constexpr const char* generation_line = "x-goog-if-generation-match: ";
constexpr const char* no_object = "0";
constexpr std::string_view class_line = "x-goog-storage-class";

/// Of one object; what was composed may be composed again.
constexpr std::size_t most_components = 32;
/// Each is in memory while it is sent.
constexpr std::size_t most_pieces_at_once = 8;

/// Beside the object, where tare keeps its journals, too.
std::string own_place(const std::string& path, const std::string& name) {
  return fmt::format("{}/.tare/{}", folder_of(path), name);
}

std::string copy_place(const std::string& path, const std::string& generation) {
  return own_place(path, fmt::format("{}.{}.kept", file_name(path), generation));
}

/// Components must be of the object's own class.
std::vector<std::string> class_of(const ObjectSeen& seen) {
  std::vector<std::string> lines;
  std::ranges::copy_if(seen.properties, std::back_inserter(lines),
                       [](const std::string& line) { return name_of_line(line) == class_line; });
  return lines;
}

std::string in_xml(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '&') {
      safe += "&amp;";
    } else if (letter == '<') {
      safe += "&lt;";
    } else {
      safe += letter;
    }
  }
  return safe;
}

std::string source_line(const std::string& path) {
  const S3Object object = parse_bucket(path);
  return fmt::format("x-goog-copy-source: /{}/{}", object.bucket, escaped_key(object.key));
}

}  // namespace

ObjectSeen GcsObjects::seen_in(const HttpAnswer& answer) const {
  ObjectSeen seen = tagged(answer);
  for (const std::string& line : answer.lines) {
    const std::string name = name_of_line(line);
    const bool is_own = std::ranges::find(google_lines, name) != google_lines.end();
    if (is_own || name.starts_with(google_metadata)) seen.properties.push_back(name + ": " + value_of_line(line));
    if (name == "content-length") seen.size = number_of_line(line);
    if (name == "x-goog-generation") seen.kept = value_of_line(line);
  }
  return seen;
}

bool GcsObjects::is_other_now(const HttpAnswer& answer) const {
  return answer.status == http::not_found || answer.status == http::precondition_failed;
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

std::string GcsObjects::begin(const std::string&, const ObjectSeen&) {
  return new_upload_name();
}

std::optional<ObjectSeen> GcsObjects::composed(const std::string& path, const std::vector<Whole>& wholes,
                                               std::vector<std::string> lines) const {
  std::string list = "<ComposeRequest>";
  for (const Whole& whole : wholes) {
    list += fmt::format("<Component><Name>{}</Name><Generation>{}</Generation></Component>",
                        in_xml(parse_bucket(whole.path).key), whole.generation);
  }
  list += "</ComposeRequest>";
  return put(path, "?compose=", as_bytes(list), std::move(lines));
}

bool GcsObjects::join(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                      std::vector<Whole>& wholes, const std::function<void()>& before_each) const {
  for (std::size_t level = 1; wholes.size() > most_components; ++level) {
    std::vector<Whole> joined;
    for (std::size_t at = 0; at < wholes.size(); at += most_components) {
      const auto first = wholes.begin() + static_cast<std::ptrdiff_t>(at);
      const auto count = static_cast<std::ptrdiff_t>(std::min(most_components, wholes.size() - at));
      const std::string place = own_place(path, fmt::format("{}-{}-{:06}", upload, level, at));
      before_each();
      const auto made = composed(place, {first, first + count}, class_of(seen));
      if (!made) return false;
      joined.push_back({place, made->kept});
    }
    wholes = std::move(joined);
  }
  return true;
}

std::optional<ObjectSeen> GcsObjects::compose(const std::string& path, const ObjectSeen& seen,
                                              const std::string& upload, const std::vector<ObjectPart>& parts,
                                              const NewBytes& bytes, const std::function<void()>& before_each) {
  const std::size_t first = parts.front().copied_from ? 1 : 0;
  std::vector<Whole> wholes(parts.size() - first);
  const auto send = [&](std::size_t i) {
    const Bytes piece = bytes(parts[first + i].span);
    wholes[i].path = own_place(path, fmt::format("{}-{:06}", upload, i));
    before_each();
    const auto made = put(wholes[i].path, "", piece, class_of(seen));
    if (made) wholes[i].generation = made->kept;
  };
  for_each_parallel(wholes.size(), send, {}, std::min(most_at_once(), most_pieces_at_once));
  if (first > 0) wholes.insert(wholes.begin(), {path, seen.kept});
  if (!join(path, seen, upload, wholes, before_each)) return std::nullopt;
  std::vector<std::string> lines = seen.properties;
  lines.push_back(std::string(generation_line) + seen.kept);
  before_each();
  auto made = composed(path, wholes, std::move(lines));
  if (made) made->size = parts.back().span.end();
  if (made) give_up(path, upload);
  return made;
}

void GcsObjects::give_up(const std::string& path, const std::string& upload) {
  const std::string folder = own_place(path, "");
  for (const std::string& name : names(folder.substr(0, folder.size() - 1))) {
    if (name.starts_with(upload)) remove(folder + name);
  }
}

bool GcsObjects::keeps_versions(const std::string& path) {
  const std::string bucket = "gs://" + parse_bucket(path).bucket;
  const std::lock_guard lock(mutex_);
  const auto known = keeps_versions_.find(bucket);
  if (known != keeps_versions_.end()) return known->second;
  const HttpAnswer answer = ask(bucket, "?versioning=", {.most_bytes = most_answer_bytes});
  const bool keeps =
      answer.status == http::ok && text_at(answer.body, {"VersioningConfiguration", "Status"}) == "Enabled";
  return keeps_versions_[bucket] = keeps;
}

std::string GcsObjects::place_of_copy(const std::string& path, const ObjectSeen& seen) {
  return keeps_versions(path) ? "" : copy_place(path, seen.kept);
}

bool GcsObjects::copy(const std::string& path, const ObjectSeen& seen) {
  const std::string place = place_of_copy(path, seen);
  if (place.empty()) return true;
  std::vector<std::string> lines = seen.properties;
  lines.insert(lines.end(), {source_line(path), "x-goog-copy-source-generation: " + seen.kept,
                             "x-goog-metadata-directive: REPLACE", std::string(generation_line) + no_object});
  return put(place, "", {}, std::move(lines)) || look(place);
}

std::optional<ObjectSeen> GcsObjects::bring_back(const std::string& path, const ObjectSeen& seen,
                                                 const std::string& kept) {
  const std::vector<std::vector<std::string>> sources = {{source_line(copy_place(path, kept))},
                                                         {source_line(path), "x-goog-copy-source-generation: " + kept}};
  for (const auto& source : sources) {
    std::vector<std::string> lines = seen.properties;
    lines.insert(lines.end(), source.begin(), source.end());
    lines.insert(lines.end(), {"x-goog-metadata-directive: REPLACE", std::string(generation_line) + seen.kept});
    const HttpAnswer answer =
        ask(path, "", {.most_bytes = most_answer_bytes, .method = "PUT", .lines = with_content_type(std::move(lines))});
    if (answer.status == http::precondition_failed) return std::nullopt;
    if (is_success(answer)) return look(path);
    if (answer.status != http::not_found) fail(path, answer, "bring an object back");
  }
  throw Error(Status::refused,
              fmt::format("{}: what it was as generation {} is neither at {} nor kept by the bucket", path, kept,
                          copy_place(path, kept)),
              "it cannot be brought back; an edit can set its values again");
}

void GcsObjects::remove_copy(const std::string& path, const std::string& kept) {
  if (!kept.empty()) remove(copy_place(path, kept));
}

}  // namespace tare
