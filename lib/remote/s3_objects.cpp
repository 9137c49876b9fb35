#include "lib/remote/s3_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/url.hpp"
#include "lib/remote/xml_walk.hpp"

namespace tare {
namespace {

/// Header lines of an object that belong to it, and that a new version is given.
constexpr auto s3_lines = std::to_array<std::string_view>({
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-server-side-encryption",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-amz-server-side-encryption-bucket-key-enabled",
    "x-amz-storage-class",
    "x-amz-website-redirect-location",
});
constexpr std::string_view s3_metadata = "x-amz-meta-";

}  // namespace

ObjectSeen S3Objects::seen_in(const HttpAnswer& answer) const {
  ObjectSeen seen = tagged(answer);
  seen.kept = answer.kept == "null" ? "" : answer.kept;
  for (const std::string& line : answer.lines) {
    const std::string name = name_of_line(line);
    const bool is_own = std::find(s3_lines.begin(), s3_lines.end(), name) != s3_lines.end();
    if (is_own || name.starts_with(s3_metadata)) seen.properties.push_back(name + ": " + value_of_line(line));
    if (name == "content-length") seen.size = number_of_line(line);
    if (name == "x-amz-tagging-count") seen.labels = number_of_line(line);
    if (name == "x-amz-object-lock-legal-hold" && value_of_line(line) == "ON") seen.lock = "a legal hold";
    if (name == "x-amz-object-lock-retain-until-date") seen.lock = "a retention until " + value_of_line(line);
  }
  return seen;
}

std::optional<std::uint64_t> S3Objects::unseen_labels(const std::string& path) {
  constexpr std::uint64_t most_bytes = std::uint64_t{64} << 10;  // of a server that takes the request for another, too
  const HttpAnswer answer = ask(path, "?tagging=", {.range = Span{0, most_bytes}, .most_bytes = most_bytes});
  if (is_forbidden(answer)) return std::nullopt;
  std::uint64_t labels = 0;
  walk_xml(answer.body, {[&](XmlPath at) {
                           labels += is_at(at, {"Tagging", "TagSet", "Tag"}) ? 1 : 0;
                         },
                         [](XmlPath, const std::string&, bool) { return true; }});
  return labels;
}

bool S3Objects::is_other_now(const HttpAnswer& answer) const {
  const std::string code = error_code(answer);
  return answer.status == http::not_found || answer.status == http::conflict ||
         answer.status == http::precondition_failed || code == "PreconditionFailed" ||
         code == "ConditionalRequestConflict" || code == "NoSuchUpload";
}

std::optional<ObjectSeen> S3Objects::create(const std::string& path, ByteView bytes) {
  return put(path, "", bytes, {"if-none-match: *"});
}

std::optional<ObjectSeen> S3Objects::replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) {
  std::vector<std::string> lines = seen.properties;
  lines.push_back("if-match: " + seen.tag);
  return put(path, "", bytes, std::move(lines));
}

std::string S3Objects::begin(const std::string& path, const ObjectSeen& seen) {
  const HttpAnswer answer = ask(
      path,
      "?uploads=", {.most_bytes = most_answer_bytes, .method = "POST", .lines = with_content_type(seen.properties)});
  const std::string upload = text_at(answer.body, {"InitiateMultipartUploadResult", "UploadId"});
  if (!is_success(answer) || upload.empty()) fail(path, answer, "begin an upload");
  return upload;
}

std::string S3Objects::part(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                            std::size_t number, const ObjectPart& part, const NewBytes& bytes) const {
  const std::string query = fmt::format("?partNumber={}&uploadId={}", number, escaped_value(upload));
  HttpRequest request{.most_bytes = most_answer_bytes, .method = "PUT"};
  Bytes sent;
  if (part.copied_from) {
    const S3Object object = parse_bucket(path);
    request.lines = {
        fmt::format("x-amz-copy-source: /{}/{}", object.bucket, escaped_key(object.key)),
        fmt::format("x-amz-copy-source-if-match: {}", seen.tag),
        fmt::format("x-amz-copy-source-range: bytes={}-{}", *part.copied_from, *part.copied_from + part.span.size - 1)};
  } else {
    sent = bytes(part.span);
    request.body = sent;
  }
  request.lines = with_content_type(std::move(request.lines));
  const HttpAnswer answer = ask(path, query, request);
  if (is_other_now(answer)) return {};
  const std::string tag = part.copied_from ? text_at(answer.body, {"CopyPartResult", "ETag"}) : answer.etag;
  if (!is_success(answer) || tag.empty()) fail(path, answer, "take a part");
  return tag;
}

std::optional<ObjectSeen> S3Objects::compose(const std::string& path, const ObjectSeen& seen, const std::string& upload,
                                             const std::vector<ObjectPart>& parts, const NewBytes& bytes,
                                             const std::function<void()>& before_each) {
  std::vector<std::string> tags(parts.size());
  const auto make = [&](std::size_t i) {
    before_each();
    tags[i] = part(path, seen, upload, i + 1, parts[i], bytes);
  };
  for_each_parallel(parts.size(), make, {}, std::min(most_at_once(), most_parts_at_once));
  if (std::any_of(tags.begin(), tags.end(), [](const std::string& tag) { return tag.empty(); })) return std::nullopt;
  std::string list = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < tags.size(); ++i) {
    list += fmt::format("<Part><ETag>{}</ETag><PartNumber>{}</PartNumber></Part>", tags[i], i + 1);
  }
  list += "</CompleteMultipartUpload>";
  before_each();
  const HttpAnswer answer = ask(path, fmt::format("?uploadId={}", escaped_value(upload)),
                                {.most_bytes = most_answer_bytes,
                                 .method = "POST",
                                 .body = as_bytes(list),
                                 .lines = {"content-type: application/xml", "if-match: " + seen.tag}});
  if (is_other_now(answer)) return std::nullopt;
  if (!is_success(answer)) fail(path, answer, "complete an upload");
  ObjectSeen made = seen_in(answer);
  made.tag = text_at(answer.body, {"CompleteMultipartUploadResult", "ETag"});
  made.size = parts.back().span.end();
  return made;
}

void S3Objects::give_up(const std::string& path, const std::string& upload) {
  const HttpAnswer answer = ask(path, fmt::format("?uploadId={}", escaped_value(upload)),
                                {.most_bytes = most_answer_bytes, .method = "DELETE"});
  if (!is_success(answer) && answer.status != http::not_found) fail(path, answer, "give up an upload");
}

}  // namespace tare
