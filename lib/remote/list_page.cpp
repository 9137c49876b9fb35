#include "lib/remote/list_page.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/remote/url.hpp"

namespace tare {
namespace {

constexpr std::size_t deepest = 8;  ///< S3's own have four levels

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

/// What is read, element by element.
class Reading {
 public:
  explicit Reading(XML_Parser parser) : parser_(parser) {}

  void begin(const char* element) {
    if (path_.size() == deepest) return stop();
    path_.emplace_back(element);
    text_.clear();
    if (is_at({"ListBucketResult"})) is_listing_ = true;
    if (is_at({"ListBucketResult", "Contents"})) page_.objects.emplace_back();
  }

  void end() {
    if (is_at({"ListBucketResult", "Contents", "Key"})) page_.objects.back().key = text_;
    if (is_at({"ListBucketResult", "Contents", "Size"})) page_.objects.back().size = size();
    if (is_at({"ListBucketResult", "CommonPrefixes", "Prefix"})) page_.folders.push_back(text_);
    if (is_at({"ListBucketResult", "NextContinuationToken"})) page_.next = text_;
    if (is_at({"ListBucketResult", "IsTruncated"})) is_cut_ = text_ == "true";
    if (is_at({"ListBucketResult", "EncodingType"})) is_escaped_ = text_ == "url";
    path_.pop_back();
    text_.clear();
  }

  void add(std::string_view text) { text_ += text; }

  /// Nobody who lists objects needs a document type, whose entities can grow without end.
  void stop() { XML_StopParser(parser_, XML_FALSE); }

  /// What a call throws waits until expat, which is C, is through.
  template <class Call>
  void guard(const Call& call) {
    try {
      call();
    } catch (...) {
      thrown_ = std::current_exception();
      stop();
    }
  }
  void rethrow() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

  [[nodiscard]] bool is_listing() const { return is_listing_; }
  /// Is there more, and nothing that it could be asked for with? The list of an older protocol is so.
  [[nodiscard]] bool is_endless() const { return is_cut_ && page_.next.empty(); }

  ListPage take() {
    if (!is_cut_) page_.next.clear();
    if (!is_escaped_) return std::move(page_);
    for (ListedObject& object : page_.objects) object.key = unescaped_value(object.key);
    for (std::string& folder : page_.folders) folder = unescaped_value(folder);
    return std::move(page_);
  }

 private:
  [[nodiscard]] bool is_at(std::initializer_list<std::string_view> path) const {
    return std::equal(path_.begin(), path_.end(), path.begin(), path.end());
  }

  std::uint64_t size() {
    std::uint64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto read = std::from_chars(text_.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) stop();
    return value;
  }

  XML_Parser parser_;
  std::vector<std::string> path_;
  std::string text_;
  ListPage page_;
  std::exception_ptr thrown_;
  bool is_listing_ = false, is_cut_ = false, is_escaped_ = false;
};

Reading& reading(void* data) {
  return *static_cast<Reading*>(data);
}

void on_begin(void* data, const char* element, const char**) {
  reading(data).guard([&] { reading(data).begin(element); });
}
void on_end(void* data, const char*) {
  reading(data).guard([&] { reading(data).end(); });
}
void on_text(void* data, const char* text, int size) {
  reading(data).guard([&] { reading(data).add({text, static_cast<std::size_t>(size)}); });
}
void on_document_type(void* data, const char*, const char*, const char*, int) {
  reading(data).stop();
}

}  // namespace

std::optional<ListPage> parse_s3_page(const std::string& name, ByteView xml) {
  const Parser parser(XML_ParserCreate("UTF-8"));
  if (parser == nullptr) throw std::bad_alloc();
  Reading read(parser.get());
  XML_SetUserData(parser.get(), &read);
  XML_SetElementHandler(parser.get(), on_begin, on_end);
  XML_SetCharacterDataHandler(parser.get(), on_text);
  XML_SetStartDoctypeDeclHandler(parser.get(), on_document_type);
  const std::string_view text = as_text(xml);
  const auto result = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  read.rethrow();
  if (!read.is_listing()) return std::nullopt;
  if (result != XML_STATUS_OK) {
    throw Error(Status::io,
                fmt::format("{}: the server's listing breaks off in line {}: {}", name,
                            XML_GetCurrentLineNumber(parser.get()), XML_ErrorString(XML_GetErrorCode(parser.get()))));
  }
  if (read.is_endless()) {
    throw Error(Status::io, fmt::format("{}: the server's listing ends where more is said to follow", name),
                "give the path of one file, or download the checkpoint");
  }
  return read.take();
}

}  // namespace tare
