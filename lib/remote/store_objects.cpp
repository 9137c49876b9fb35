#include "lib/remote/store_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <random>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"
#include "lib/remote/content_range.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/xml_walk.hpp"

namespace tare {
namespace {

constexpr std::uint64_t first_bytes = std::uint64_t{64} << 10;

/// What S3 says that is no question of rights, and what to do about it.
struct Reason {
  std::string_view code;
  const char* hint;
};
constexpr auto reasons = std::to_array<Reason>({
    {"InvalidObjectState", "it is archived: restore it first (aws s3api restore-object), or take another checkpoint"},
    {"RequestTimeTooSkewed", "this machine's clock is wrong: set it"},
    {"InvalidAccessKeyId", "nobody has that access key (any more): see AWS_ACCESS_KEY_ID and the AWS profile"},
    {"SignatureDoesNotMatch", "the secret key is not that of the access key: see where the two come from"},
});

}  // namespace

HttpAnswer StoreObjects::ask(const std::string& path, const std::string& query, const HttpRequest& request) const {
  HttpObject object = files_.object(path, query);
  return files_.client().ask(object, request);
}

std::optional<ObjectSeen> StoreObjects::look(const std::string& path) {
  const HttpAnswer answer = ask(path, "", {.most_bytes = 0, .method = "HEAD"});
  if (answer.status == http::not_found) return std::nullopt;
  if (answer.status != http::ok) fail(path, answer, "tell of an object");
  if (answer.etag.empty()) throw Error(Status::refused, path + ": the server gives it no ETag", "download and edit it");
  return seen_in(answer);
}

std::optional<ObjectSeen> StoreObjects::start(const std::string& path, Bytes& begin) {
  HttpAnswer answer = ask(path, "", {.range = Span{0, first_bytes}, .most_bytes = first_bytes});
  if (answer.status == http::not_found) return std::nullopt;
  if (answer.status == http::range_not_satisfiable) return seen_in(answer);  // there is no first byte
  const auto sent = parse_content_range(answer.content_range);
  if (answer.status != http::partial_content || !sent || !sent->total || sent->range != Span{0, answer.body.size()}) {
    fail(path, answer, "send the begin of an object");
  }
  ObjectSeen seen = seen_in(answer);
  seen.size = *sent->total;
  begin = std::move(answer.body);
  return seen;
}

Bytes StoreObjects::read(const std::string& path, const ObjectSeen& seen, Span span) {
  if (span.size == 0) return {};
  HttpObject object = files_.object(path);
  HttpRange range = files_.client().get(object, span);
  if (range.version != seen.tag) throw Error(Status::refused, path + ": changed since it was read", "try again");
  if (range.bytes.size() != span.size) throw Error(Status::io, path + ": is shorter than the server says");
  return std::move(range.bytes);
}

std::vector<std::string> StoreObjects::listed(const std::string& folder, ListDepth depth) const {
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

std::optional<ObjectSeen> StoreObjects::put(const std::string& path, const std::string& query, ByteView bytes,
                                            std::vector<std::string> lines) const {
  const HttpAnswer answer = ask(
      path, query,
      {.most_bytes = most_answer_bytes, .method = "PUT", .body = bytes, .lines = with_content_type(std::move(lines))});
  if (is_success(answer)) {
    ObjectSeen seen = seen_in(answer);
    seen.size = bytes.size();
    return seen;
  }
  if (is_other_now(answer)) return std::nullopt;
  fail(path, answer, "write an object");
}

void StoreObjects::remove(const std::string& path) {
  const HttpAnswer answer = ask(path, "", {.most_bytes = most_answer_bytes, .method = "DELETE"});
  if (!is_success(answer) && answer.status != http::not_found) fail(path, answer, "remove an object");
}

std::string name_of_line(std::string_view line) {
  return in_small_letters(line.substr(0, line.find(':')));
}

std::string value_of_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::size_t begin = line.find_first_not_of(' ', colon + 1);
  return begin == line.npos ? "" : std::string(line.substr(begin));
}

std::uint64_t number_of_line(std::string_view line) {
  const std::string value = value_of_line(line);
  std::uint64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::string text_at(ByteView xml, std::initializer_list<std::string_view> names) {
  std::string found;
  walk_xml(xml, {[](XmlPath) {},
                 [&](XmlPath path, const std::string& text, bool) {
                   if (found.empty() && is_at(path, names)) found = text;
                   return true;
                 }});
  return found;
}

std::string error_code(const HttpAnswer& answer) {
  return text_at(answer.body, {"Error", "Code"});
}

std::string status_and_code(const HttpAnswer& answer) {
  const std::string code = error_code(answer);
  return fmt::format("{}{}{}", answer.status, code.empty() ? "" : " ", code);
}

const char* hint_of(const HttpAnswer& answer) {
  constexpr long bad_request = 400;
  const std::string code = error_code(answer);
  const auto* const known = std::ranges::find(reasons, code, &Reason::code);
  if (known != reasons.end()) return known->hint;
  const bool may_be_expired = answer.status == bad_request && (code.empty() || code.starts_with("ExpiredToken"));
  return may_be_expired ? "a token that has expired is answered so: get new credentials" : "";
}

bool is_forbidden(const HttpAnswer& answer) {
  const bool is_refusal = answer.status == 401 || answer.status == 403;
  return is_refusal && std::ranges::find(reasons, error_code(answer), &Reason::code) == reasons.end();
}

bool is_success(const HttpAnswer& answer) {
  return answer.status >= http::ok && answer.status < http::first_redirect && error_code(answer).empty();
}

[[noreturn]] void fail(const std::string& path, const HttpAnswer& answer, std::string_view what) {
  const std::string message = text_at(answer.body, {"Error", "Message"});
  const bool may_not = is_forbidden(answer);
  throw Error(Status::io,
              fmt::format("{}: the server answers {}{}{} where it is to {}", path, status_and_code(answer),
                          message.empty() ? "" : ": ", message, what),
              may_not ? "these credentials (or none) may not do that" : hint_of(answer), may_not ? EACCES : 0);
}

ObjectSeen tagged(const HttpAnswer& answer) {
  ObjectSeen seen;
  seen.tag = answer.etag;
  const auto written = http_time(answer.date);
  const auto now = http_time(answer.now);
  if (written && now) seen.age = std::max<std::int64_t>(*now - *written, 0);
  return seen;
}

std::string new_upload_name() {
  std::random_device device;
  return fmt::format("tare{:08x}{:08x}", device(), device());
}

std::vector<std::string> with_content_type(std::vector<std::string> lines) {
  const auto is_type = [](const std::string& line) { return name_of_line(line) == "content-type"; };
  if (std::ranges::none_of(lines, is_type)) lines.emplace_back("content-type: application/octet-stream");
  return lines;
}

}  // namespace tare
