#include "lib/remote/list_page.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/remote/url.hpp"
#include "lib/remote/xml_walk.hpp"

namespace tare {
namespace {

bool read_size(const std::string& text, std::uint64_t& size) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, size);
  return read.ec == std::errc() && read.ptr == end;
}

/// Some stores quote it in a list, some in a header alone.
std::string without_quotes(const std::string& tag) {
  const bool is_quoted = tag.size() >= 2 && tag.starts_with('"') && tag.ends_with('"');
  return is_quoted ? tag.substr(1, tag.size() - 2) : tag;
}

/// What is read of S3's, element by element.
struct S3Page {
  ListPage page;
  bool is_listing = false, is_cut = false, is_escaped = false;

  void begin(XmlPath path) {
    if (is_at(path, {"ListBucketResult"})) is_listing = true;
    if (is_at(path, {"ListBucketResult", "Contents"})) page.objects.emplace_back();
  }

  bool end(XmlPath path, const std::string& text) {
    if (is_at(path, {"ListBucketResult", "Contents", "Key"})) page.objects.back().key = text;
    if (is_at(path, {"ListBucketResult", "Contents", "ETag"})) page.objects.back().tag = without_quotes(text);
    if (is_at(path, {"ListBucketResult", "CommonPrefixes", "Prefix"})) page.folders.push_back(text);
    if (is_at(path, {"ListBucketResult", "NextContinuationToken"})) page.next = text;
    if (is_at(path, {"ListBucketResult", "IsTruncated"})) is_cut = text == "true";
    if (is_at(path, {"ListBucketResult", "EncodingType"})) is_escaped = text == "url";
    return !is_at(path, {"ListBucketResult", "Contents", "Size"}) || read_size(text, page.objects.back().size);
  }

  /// Is there more, and nothing that it could be asked for with? The list of an older protocol is so.
  [[nodiscard]] bool is_endless() const { return is_cut && page.next.empty(); }

  ListPage take() {
    if (!is_cut) page.next.clear();
    if (!is_escaped) return std::move(page);
    for (ListedObject& object : page.objects) object.key = unescaped_value(object.key);
    for (std::string& folder : page.folders) folder = unescaped_value(folder);
    return std::move(page);
  }
};

/// The same of Azure's.
struct AzurePage {
  ListPage page;
  bool is_listing = false;
  bool is_folder = false;  ///< the blob that is read stands for a folder

  void begin(XmlPath path) {
    if (is_at(path, {"EnumerationResults"})) is_listing = true;
    if (!is_at(path, {"EnumerationResults", "Blobs", "Blob"})) return;
    page.objects.emplace_back();
    is_folder = false;
  }

  bool end(XmlPath path, const std::string& text, bool is_escaped) {
    const std::string name = is_escaped ? unescaped_key(text) : text;
    if (is_at(path, {"EnumerationResults", "Blobs", "Blob", "Name"})) page.objects.back().key = name;
    if (is_at(path, {"EnumerationResults", "Blobs", "BlobPrefix", "Name"})) page.folders.push_back(name);
    if (is_at(path, {"EnumerationResults", "NextMarker"})) page.next = text;
    if (is_at(path, {"EnumerationResults", "Blobs", "Blob", "Properties", "ResourceType"}))
      is_folder = text == "directory";
    if (is_at(path, {"EnumerationResults", "Blobs", "Blob", "Properties", "Etag"})) {
      page.objects.back().tag = without_quotes(text);
    }
    if (is_folder && is_at(path, {"EnumerationResults", "Blobs", "Blob"})) page.objects.pop_back();
    return !is_at(path, {"EnumerationResults", "Blobs", "Blob", "Properties", "Content-Length"}) ||
           read_size(text, page.objects.back().size);
  }
};

void require_whole(const std::string& name, const std::string& problem) {
  if (!problem.empty()) throw Error(Status::io, fmt::format("{}: the server's listing breaks off {}", name, problem));
}

}  // namespace

std::optional<ListPage> parse_s3_page(const std::string& name, ByteView xml) {
  S3Page read;
  const std::string problem =
      walk_xml(xml, {[&](XmlPath path) { read.begin(path); },
                     [&](XmlPath path, const std::string& text, bool) { return read.end(path, text); }});
  if (!read.is_listing) return std::nullopt;
  require_whole(name, problem);
  if (read.is_endless()) {
    throw Error(Status::io, fmt::format("{}: the server's listing ends where more is said to follow", name),
                "give the path of one file, or download the checkpoint");
  }
  return read.take();
}

std::optional<ListPage> parse_azure_page(const std::string& name, ByteView xml) {
  AzurePage read;
  const std::string problem = walk_xml(
      xml, {[&](XmlPath path) { read.begin(path); },
            [&](XmlPath path, const std::string& text, bool is_escaped) { return read.end(path, text, is_escaped); }});
  if (!read.is_listing) return std::nullopt;
  require_whole(name, problem);
  return std::move(read.page);
}

std::string key_below(std::string_view key, const std::string& prefix, const std::string& name) {
  if (key.starts_with(prefix)) return std::string(key.substr(prefix.size()));
  throw Error(Status::io, fmt::format("{}: the server lists \"{}\", which is not in it", name, key));
}

}  // namespace tare
