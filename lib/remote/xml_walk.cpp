#include "lib/remote/xml_walk.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>

namespace tare {
namespace {

constexpr std::size_t deepest = 8;  ///< S3's own listings have four levels, Azure's five

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

class Walk {
 public:
  Walk(XML_Parser parser, const XmlReader& reader) : parser_(parser), reader_(reader) {}

  void begin(const char* element, const char** attributes) {
    if (path_.size() == deepest) return stop();
    path_.emplace_back(element);
    text_.clear();
    is_escaped_ = false;
    for (; *attributes != nullptr; attributes += 2) {
      is_escaped_ |= std::string_view(attributes[0]) == "Encoded" && std::string_view(attributes[1]) == "true";
    }
    reader_.on_begin(path_);
  }

  void end() {
    if (!reader_.on_end(path_, text_, is_escaped_)) return stop();
    path_.pop_back();
    text_.clear();
  }

  void add(std::string_view text) { text_ += text; }

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

 private:
  XML_Parser parser_;
  const XmlReader& reader_;
  std::vector<std::string> path_;
  std::string text_;
  bool is_escaped_ = false;
  std::exception_ptr thrown_;
};

Walk& walk(void* data) {
  return *static_cast<Walk*>(data);
}

void on_begin(void* data, const char* element, const char** attributes) {
  walk(data).guard([&] { walk(data).begin(element, attributes); });
}
void on_end(void* data, const char*) {
  walk(data).guard([&] { walk(data).end(); });
}
void on_text(void* data, const char* text, int size) {
  walk(data).guard([&] { walk(data).add({text, static_cast<std::size_t>(size)}); });
}
void on_document_type(void* data, const char*, const char*, const char*, int) {
  walk(data).stop();
}

/// Expat 2.9 deprecates the name that those before have alone.
auto line_of(XML_Parser parser) {
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
  return XML_GetCurrentLineNumber64(parser);
#else
  return XML_GetCurrentLineNumber(parser);
#endif
}

}  // namespace

bool is_at(XmlPath path, std::initializer_list<std::string_view> names) {
  return std::equal(path.begin(), path.end(), names.begin(), names.end());
}

std::string walk_xml(ByteView xml, const XmlReader& reader) {
  const Parser parser(XML_ParserCreate("UTF-8"));
  if (parser == nullptr) throw std::bad_alloc();
  Walk read(parser.get(), reader);
  XML_SetUserData(parser.get(), &read);
  XML_SetElementHandler(parser.get(), on_begin, on_end);
  XML_SetCharacterDataHandler(parser.get(), on_text);
  XML_SetStartDoctypeDeclHandler(parser.get(), on_document_type);
  const std::string_view text = as_text(xml);
  const auto result = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
  read.rethrow();
  if (result == XML_STATUS_OK) return {};
  return fmt::format("in line {}: {}", line_of(parser.get()), XML_ErrorString(XML_GetErrorCode(parser.get())));
}

}  // namespace tare
