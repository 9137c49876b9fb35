#include "lib/remote/s3_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"
#include "lib/remote/content_range.hpp"
#include "lib/remote/url.hpp"
#include "lib/remote/xml_walk.hpp"

namespace tare {
namespace {

/// Without what is in an object: a list of parts is the longest.
constexpr std::uint64_t most_answer_bytes = std::uint64_t{4} << 20;
/// Parts that are sent are in memory meanwhile.
constexpr std::size_t most_parts_at_once = 8;
constexpr std::uint64_t first_bytes = std::uint64_t{64} << 10;
constexpr long ok = 200, partial_content = 206, range_not_satisfiable = 416, first_redirect = 300, not_found = 404,
               conflict = 409, precondition_failed = 412;

/// Header lines of an object that belong to it, and that a new version is given.
constexpr auto own_lines = std::to_array<std::string_view>({
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
constexpr std::string_view metadata_prefix = "x-amz-meta-";

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

std::string name_of_line(std::string_view line) {
  return lower(line.substr(0, line.find(':')));
}

std::string value_of_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::size_t begin = line.find_first_not_of(' ', colon + 1);
  return begin == line.npos ? "" : std::string(line.substr(begin));
}

/// 0 where it is none.
std::uint64_t number_of_line(std::string_view line) {
  const std::string value = value_of_line(line);
  std::uint64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

ObjectSeen seen_in(const HttpAnswer& answer) {
  ObjectSeen seen;
  seen.tag = answer.etag;
  seen.kept = answer.kept == "null" ? "" : answer.kept;
  const auto written = http_time(answer.date);
  const auto now = http_time(answer.now);
  if (written && now) seen.age = std::max<std::int64_t>(*now - *written, 0);
  for (const std::string& line : answer.lines) {
    const std::string name = name_of_line(line);
    const bool is_own = std::find(own_lines.begin(), own_lines.end(), name) != own_lines.end();
    if (is_own || name.starts_with(metadata_prefix)) seen.properties.push_back(name + ": " + value_of_line(line));
    if (name == "content-length") seen.size = number_of_line(line);
    if (name == "x-amz-tagging-count") seen.labels = number_of_line(line);
  }
  return seen;
}

/// The text of the first such element; empty where there is none.
std::string text_at(ByteView xml, std::initializer_list<std::string_view> names) {
  std::string found;
  walk_xml(xml, {[](XmlPath) {},
                 [&](XmlPath path, const std::string& text, bool) {
                   if (found.empty() && is_at(path, names)) found = text;
                   return true;
                 }});
  return found;
}

/// S3 says so also in an answer that began as a success.
std::string error_code(const HttpAnswer& answer) {
  return text_at(answer.body, {"Error", "Code"});
}

bool is_success(const HttpAnswer& answer) {
  return answer.status >= ok && answer.status < first_redirect && error_code(answer).empty();
}

/// Is it that the object is no longer what was seen, or the upload no longer there?
bool is_other_now(const HttpAnswer& answer) {
  const std::string code = error_code(answer);
  return answer.status == not_found || answer.status == conflict || answer.status == precondition_failed ||
         code == "PreconditionFailed" || code == "ConditionalRequestConflict" || code == "NoSuchUpload";
}

[[noreturn]] void fail(const std::string& path, const HttpAnswer& answer, std::string_view what) {
  const std::string code = error_code(answer);
  const std::string message = text_at(answer.body, {"Error", "Message"});
  const bool is_forbidden = answer.status == 401 || answer.status == 403;
  throw Error(Status::io,
              fmt::format("{}: the server answers {}{}{}{}{} where it is to {}", path, answer.status,
                          code.empty() ? "" : " ", code, message.empty() ? "" : ": ", message, what),
              is_forbidden ? "these credentials (or none) may not do that" : "", is_forbidden ? EACCES : 0);
}

std::string content_type_of(const std::vector<std::string>& lines) {
  const auto has = std::any_of(lines.begin(), lines.end(),
                               [](const std::string& line) { return name_of_line(line) == "content-type"; });
  return has ? "" : "content-type: application/octet-stream";
}

/// libcurl would give one of its own.
std::vector<std::string> with_content_type(std::vector<std::string> lines) {
  if (std::string line = content_type_of(lines); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

HttpAnswer S3Objects::ask(const std::string& path, const std::string& query, const HttpRequest& request) const {
  HttpObject object = files_.object(path);
  object.query = query;
  object.url += query;
  return files_.client().ask(object, request);
}

std::optional<ObjectSeen> S3Objects::look(const std::string& path) {
  const HttpAnswer answer = ask(path, "", {.most_bytes = 0, .method = "HEAD"});
  if (answer.status == not_found) return std::nullopt;
  if (answer.status != ok) fail(path, answer, "tell of an object");
  if (answer.etag.empty()) throw Error(Status::refused, path + ": the server gives it no ETag", "download and edit it");
  return seen_in(answer);
}

std::optional<ObjectSeen> S3Objects::start(const std::string& path, Bytes& begin) {
  HttpAnswer answer = ask(path, "", {.range = Span{0, first_bytes}, .most_bytes = first_bytes});
  if (answer.status == not_found) return std::nullopt;
  if (answer.status == range_not_satisfiable) return seen_in(answer);  // there is no first byte
  const auto sent = parse_content_range(answer.content_range);
  if (answer.status != partial_content || !sent || sent->range != Span{0, answer.body.size()}) {
    fail(path, answer, "send the begin of an object");
  }
  ObjectSeen seen = seen_in(answer);
  seen.size = sent->total;
  begin = std::move(answer.body);
  return seen;
}

Bytes S3Objects::read(const std::string& path, const ObjectSeen& seen, Span span) {
  if (span.size == 0) return {};
  HttpObject object = files_.object(path);
  HttpRange range = files_.client().get(object, span);
  if (range.version != seen.tag) throw Error(Status::refused, path + ": changed since it was read", "try again");
  if (range.bytes.size() != span.size) throw Error(Status::io, path + ": is shorter than the server says");
  return std::move(range.bytes);
}

std::vector<std::string> S3Objects::listed(const std::string& folder, ListDepth depth) const {
  std::vector<std::string> names;
  std::string from;
  do {
    auto page = files_.list_now(folder, depth, from);
    if (!page) {
      throw Error(Status::refused, folder + ": you may not list it, so that nobody can tell who else edits there",
                  "ask for the right to list the bucket", EACCES);
    }
    for (ListedObject& object : page->objects) names.push_back(std::move(object.key));
    from = std::move(page->next);
  } while (!from.empty());
  return names;
}

std::optional<ObjectSeen> S3Objects::put(const std::string& path, ByteView bytes,
                                         std::vector<std::string> lines) const {
  const HttpAnswer answer = ask(
      path, "",
      {.most_bytes = most_answer_bytes, .method = "PUT", .body = bytes, .lines = with_content_type(std::move(lines))});
  if (is_success(answer)) {
    ObjectSeen seen = seen_in(answer);
    seen.size = bytes.size();
    return seen;
  }
  if (is_other_now(answer)) return std::nullopt;
  fail(path, answer, "write an object");
}

std::optional<ObjectSeen> S3Objects::create(const std::string& path, ByteView bytes) {
  return put(path, bytes, {"if-none-match: *"});
}

std::optional<ObjectSeen> S3Objects::replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) {
  std::vector<std::string> lines = seen.properties;
  lines.push_back("if-match: " + seen.tag);
  return put(path, bytes, std::move(lines));
}

void S3Objects::remove(const std::string& path) {
  const HttpAnswer answer = ask(path, "", {.most_bytes = most_answer_bytes, .method = "DELETE"});
  if (!is_success(answer) && answer.status != not_found) fail(path, answer, "remove an object");
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
  if (!is_success(answer) && answer.status != not_found) fail(path, answer, "give up an upload");
}

bool is_changeable(const std::string& path) {
  return has_scheme(path, "s3://");
}

}  // namespace tare
