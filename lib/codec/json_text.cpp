#include "lib/codec/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "lib/codec/json_line.hpp"

namespace tare::json {
namespace {

void write(std::string& out, const Json& json, std::size_t indent);

/// Whether a terminal would act on it: a control character that JSON allows, or a mark that turns the text around.
bool acts_on_terminals(const std::string& text) {
  if (std::ranges::all_of(text, [](unsigned char byte) { return byte < 0x7f; })) return false;
  const std::string shown = escaped(text);
  return shown.find("\\u{") != shown.npos || shown.find("\\x7f") != shown.npos;
}

void write_text(std::string& out, const std::string& text) {
  out += nlohmann::json(text).dump(-1, ' ', acts_on_terminals(text), nlohmann::json::error_handler_t::replace);
}

void write_float(std::string& out, double value) {
  const std::string text = float_text(value);
  if (text.find_first_of("0123456789") != std::string::npos) {
    out += text;
  } else {
    write_text(out, text);
  }
}

void new_line(std::string& out, std::size_t indent) {
  out.append("\n").append(indent, ' ');
}

void write_name(std::string& out, const std::string& name, std::size_t indent) {
  if (out.back() != '{') out += ',';
  new_line(out, indent);
  write_text(out, name);
  out += ": ";
}

/// Behind a brace, or behind others.
void write_members(std::string& out, const Object& members, std::size_t indent) {
  for (const auto& [name, value] : members) {
    write_name(out, name, indent);
    write(out, value, indent);
  }
}

void write_object(std::string& out, const Object& members, std::size_t indent) {
  out += '{';
  write_members(out, members, indent + 2);
  if (!members.empty()) new_line(out, indent);
  out += '}';
}

void write_item(std::string& out, std::int64_t integer) {
  out += std::to_string(integer);
}
void write_item(std::string& out, double real) {
  write_float(out, real);
}
void write_item(std::string& out, float real) {
  write_float(out, real);
}
void write_item(std::string& out, const std::string& text) {
  write_text(out, text);
}

/// Rows of `array` from dimension `axis` on, as write_array has them; `at` walks over the values.
void write_rows(std::string& out, const StateArray& array, std::size_t axis, std::size_t& at, std::size_t indent) {
  const bool is_innermost = axis + 1 == array.shape.size();
  const bool flat = is_innermost || array.shape[axis] == 0 || array.shape[axis + 1] == 0;
  out += '[';
  for (std::uint64_t i = 0; i < array.shape[axis]; ++i) {
    if (i > 0) out += flat ? ", " : ",";
    if (!flat) new_line(out, indent + 2);
    if (is_innermost) {
      std::visit([&](const auto& list) { write_item(out, list[at]); }, array.values);
      ++at;
    } else {
      write_rows(out, array, axis + 1, at, indent + 2);
    }
  }
  if (!flat) new_line(out, indent);
  out += ']';
}

bool is_plain(const Json& json) {
  const auto* items = json.as<Array>();
  const auto* members = json.as<Object>();
  const auto* numbers = json.as<Numbers>();
  return (items == nullptr || items->empty()) && (members == nullptr || members->empty()) &&
         (numbers == nullptr || (*numbers)->shape.front() == 0);
}

void write_array(std::string& out, const Array& items, std::size_t indent) {
  const bool flat = std::ranges::all_of(items, is_plain);
  out += '[';
  bool first = true;
  for (const Json& item : items) {
    if (!first) out += flat ? ", " : ",";
    first = false;
    if (!flat) new_line(out, indent + 2);
    write(out, item, indent + 2);
  }
  if (!flat) new_line(out, indent);
  out += ']';
}

void write(std::string& out, const Json& json, std::size_t indent) {
  if (const auto* members = json.as<Object>()) return write_object(out, *members, indent);
  if (const auto* items = json.as<Array>()) return write_array(out, *items, indent);
  if (const auto* numbers = json.as<Numbers>()) {
    std::size_t at = 0;
    return write_rows(out, **numbers, 0, at, indent);
  }
  if (const auto* text = json.as<std::string>()) return write_text(out, *text);
  if (const auto* real = json.as<double>()) return write_float(out, *real);
  if (const auto* integer = json.as<std::int64_t>()) {
    out += std::to_string(*integer);
  } else if (const auto* flag = json.as<bool>()) {
    out += *flag ? "true" : "false";
  } else {
    out += "null";
  }
}

}  // namespace

Members& Members::set(std::string_view name, Json value) {
  const auto found = std::ranges::find(object_, name, &Object::value_type::first);
  if (found == object_.end()) return add(name, std::move(value));
  found->second = std::move(value);
  return *this;
}

std::string text_of(const Json& json, std::size_t room) {
  std::string out;
  out.reserve(room);
  write(out, json, 0);
  out += '\n';
  return out;
}

std::string line_of(const Json& json) {
  return JsonLine().of(text_of(json));
}

void write_text(const Object& front, const MadeList& list, const Object& behind, const TextSink& sink) {
  constexpr std::size_t indent = 2;
  constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  std::string out = "{";
  write_members(out, front, indent);
  write_name(out, std::string(list.name), indent);
  out += '[';
  bool is_empty = true;
  list.make_each([&](const Json& item) {
    if (!is_empty) out += ',';
    is_empty = false;
    new_line(out, 2 * indent);
    write(out, item, 2 * indent);
    if (out.size() < piece_bytes) return;
    sink(out);
    out.clear();
  });
  if (!is_empty) new_line(out, indent);
  out += ']';
  write_members(out, behind, indent);
  out += "\n}\n";
  sink(out);
}

std::string gathered(const std::function<void(const TextSink& sink)>& write, std::size_t room) {
  std::string text;
  text.reserve(room);
  write([&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace tare::json
