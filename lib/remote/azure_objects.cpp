#include "lib/remote/azure_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"
#include "lib/base/text.hpp"
#include "lib/remote/azure.hpp"
#include "lib/remote/http_status.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

/// What a header says of a blob, and what says so of its new version.
struct Property {
  std::string_view told, given;
};
constexpr auto properties = std::to_array<Property>({
    {"cache-control", "x-ms-blob-cache-control"},
    {"content-disposition", "x-ms-blob-content-disposition"},
    {"content-encoding", "x-ms-blob-content-encoding"},
    {"content-language", "x-ms-blob-content-language"},
    {"content-type", "x-ms-blob-content-type"},
    {"x-ms-access-tier", "x-ms-access-tier"},
    {"x-ms-encryption-scope", "x-ms-encryption-scope"},
});
constexpr std::string_view azure_metadata = "x-ms-meta-";

/// Codes of what is no longer as it was seen: the blob, or blocks that somebody else's commit has swept away.
constexpr auto other_now = std::to_array<std::string_view>({
    "BlobAlreadyExists",
    "BlobNotFound",
    "ConditionNotMet",
    "InvalidBlockList",
    "SourceConditionNotMet",
    "TargetConditionNotMet",
});

/// Azure says of itself what it would choose for blobs that nobody gave a tier: that is nothing to give again.
bool is_inferred(const std::vector<std::string>& lines) {
  return std::ranges::any_of(lines, [](const std::string& line) {
    return name_of_line(line) == "x-ms-access-tier-inferred" && value_of_line(line) == "true";
  });
}

/// Of a kind that is written in another way, or held by somebody.
void require_writable(const std::string& kind, const std::string& lease) {
  if (!kind.empty() && kind != "BlockBlob") {
    throw Error(Status::refused, fmt::format("a {} is not edited in place: it is made of no blocks", kind),
                "download it, edit that, and upload it as a block blob");
  }
  if (lease != "locked") return;
  throw Error(Status::refused, "somebody has a lease of the blob, so that nobody else may write it",
              "have it released, or wait until it ends");
}

/// All of one blob are of the same length.
std::string block_name(const std::string& upload, std::size_t number) {
  return base64(fmt::format("{}{:06}", upload, number));
}

}  // namespace

ObjectSeen AzureObjects::seen_in(const HttpAnswer& answer) const {
  ObjectSeen seen = tagged(answer);
  std::string kind, lease;
  for (const std::string& line : answer.lines) {
    const std::string name = name_of_line(line);
    if (name == "content-length") seen.size = number_of_line(line);
    if (name == "x-ms-tag-count") seen.labels = number_of_line(line);
    if (name == "x-ms-version-id") seen.kept = value_of_line(line);
    if (name == "x-ms-blob-type") kind = value_of_line(line);
    if (name == "x-ms-lease-status") lease = value_of_line(line);
    if (name.starts_with(azure_metadata)) seen.properties.push_back(name + ": " + value_of_line(line));
    const auto* property = std::ranges::find(properties, name, &Property::told);
    if (property == properties.end() || (name == "x-ms-access-tier" && is_inferred(answer.lines))) continue;
    seen.properties.push_back(fmt::format("{}: {}", property->given, value_of_line(line)));
  }
  require_writable(kind, lease);
  return seen;
}

bool AzureObjects::is_other_now(const HttpAnswer& answer) const {
  return answer.status == http::not_found || std::ranges::find(other_now, error_code(answer)) != other_now.end();
}

std::optional<ObjectSeen> AzureObjects::create(const std::string& path, ByteView bytes) {
  return put(path, "", bytes, {"x-ms-blob-type: BlockBlob", "if-none-match: *"});
}

std::optional<ObjectSeen> AzureObjects::replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) {
  std::vector<std::string> lines = seen.properties;
  lines.insert(lines.end(), {"x-ms-blob-type: BlockBlob", "if-match: " + seen.tag});
  return put(path, "", bytes, std::move(lines));
}

std::string AzureObjects::begin(const std::string&, const ObjectSeen&) {
  return new_upload_name();
}

bool AzureObjects::put_block(const std::string& path, const ObjectSeen& seen, const std::string& block,
                             const ObjectPart& part, const NewBytes& bytes) const {
  HttpRequest request{.most_bytes = most_answer_bytes, .method = "PUT"};
  Bytes sent;
  if (part.copied_from) {
    request.lines = azure_copy_lines(files().azure(), path);
    request.lines.push_back(
        fmt::format("x-ms-source-range: bytes={}-{}", *part.copied_from, *part.copied_from + part.span.size - 1));
    request.lines.push_back("x-ms-source-if-match: " + seen.tag);
  } else {
    sent = bytes(part.span);
    request.body = sent;
  }
  request.lines = with_content_type(std::move(request.lines));
  const HttpAnswer answer = ask(path, fmt::format("?blockid={}&comp=block", escaped_value(block)), request);
  if (is_success(answer)) return true;
  if (is_other_now(answer)) return false;
  fail(path, answer, part.copied_from ? "copy a block of the blob itself" : "take a block");
}

std::optional<ObjectSeen> AzureObjects::compose(const std::string& path, const ObjectSeen& seen,
                                                const std::string& upload, const std::vector<ObjectPart>& parts,
                                                const NewBytes& bytes, const std::function<void()>& before_each) {
  std::vector<char> is_made(parts.size(), 0);
  const auto make = [&](std::size_t i) {
    before_each();
    is_made[i] = put_block(path, seen, block_name(upload, i), parts[i], bytes) ? 1 : 0;
  };
  for_each_parallel(parts.size(), make, {}, std::min(most_at_once(), most_parts_at_once));
  if (std::ranges::find(is_made, 0) != is_made.end()) return std::nullopt;
  std::string list = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    list += fmt::format("<Uncommitted>{}</Uncommitted>", block_name(upload, i));
  }
  list += "</BlockList>";
  std::vector<std::string> lines = seen.properties;
  lines.insert(lines.end(), {"content-type: application/xml", "if-match: " + seen.tag});
  before_each();
  auto made = put(path, "?comp=blocklist", as_bytes(list), std::move(lines));
  if (made) made->size = parts.back().span.end();
  return made;
}

void AzureObjects::give_up(const std::string& path, const std::string&) {
  const auto seen = look(path);
  if (!seen) return;
  std::vector<std::string> lines{"if-match: " + seen->tag};
  std::ranges::copy_if(seen->properties, std::back_inserter(lines), [](const std::string& line) {
    return line.starts_with(azure_metadata) || line.starts_with("x-ms-encryption-scope");
  });
  const HttpAnswer answer =
      ask(path, "?comp=metadata",
          {.most_bytes = most_answer_bytes, .method = "PUT", .lines = with_content_type(std::move(lines))});
  if (!is_success(answer) && !is_other_now(answer)) fail(path, answer, "give a blob another ETag");
}

}  // namespace tare
