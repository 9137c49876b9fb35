#include "lib/container/json_document.hpp"

#include "lib/base/limits.hpp"

namespace tare {

JsonDocument parsed_json(ByteView text, const std::string& name) {
  if (text.size() > limits::max_small_text_bytes) {
    throw Error(Status::refused, fmt::format("{}: {} bytes of JSON are too many", name, text.size()));
  }
  const auto is_shallow = [&](int depth, JsonDocument::parse_event_t, const JsonDocument&) {
    if (depth <= static_cast<int>(limits::max_json_depth)) return true;
    throw Error(Status::refused, fmt::format("{}: JSON nested more than {} deep", name, limits::max_json_depth));
  };
  const std::string_view characters = as_text(text);
  return with_json_errors(name, [&] { return JsonDocument::parse(characters.begin(), characters.end(), is_shallow); });
}

}  // namespace tare
