#include "lib/codec/json_text.hpp"

#include <algorithm>
#include <vector>

#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"

namespace tare::json {
namespace {

/// Watches the parser: an object that says a thing twice, or nests without end, is no file of ours.
class Watch {
 public:
  Watch(const std::string& what, Status status) : what_(what), status_(status) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (static_cast<std::size_t>(depth) > limits::max_json_depth) throw Error(status_, what_ + ": nested too deeply");
    if (event == Event::object_start) {
      names_.emplace_back();
    } else if (event == Event::object_end) {
      names_.pop_back();
    } else if (event == Event::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (name.find('\0') != std::string::npos) throw Error(status_, what_ + ": a name holds a NUL character");
      if (std::ranges::count(names_.back(), name) != 0) {
        throw Error(status_, what_ + ": \"" + name + "\" is there twice");
      }
      if (names_.back().size() >= limits::max_json_names)
        throw Error(status_, what_ + ": too many names in one object");
      names_.back().push_back(name);
    }
    return true;
  }

 private:
  const std::string& what_;
  Status status_;
  std::vector<std::vector<std::string>> names_;
};

bool is_flat(const Json& array) {
  return std::ranges::none_of(array, [](const Json& item) { return item.is_structured() && !item.empty(); });
}

void write(std::string& out, const Json& json, std::size_t indent);

void write_float(std::string& out, double value) {
  const std::string text = float_text(value);
  const bool is_number = text.find_first_of("0123456789") != std::string::npos;
  out += is_number ? text : '"' + text + '"';
}

void write_object(std::string& out, const Json& json, std::size_t indent) {
  out += '{';
  const char* separator = "\n";
  for (const auto& [name, value] : json.items()) {
    out += separator + std::string(indent + 2, ' ');
    write(out, Json(name), 0);
    out += ": ";
    write(out, value, indent + 2);
    separator = ",\n";
  }
  if (!json.empty()) out += '\n' + std::string(indent, ' ');
  out += '}';
}

void write_array(std::string& out, const Json& json, std::size_t indent) {
  const bool flat = is_flat(json);
  const std::string gap = flat ? "" : '\n' + std::string(indent + 2, ' ');
  out += '[';
  bool first = true;
  for (const Json& item : json) {
    if (!first) out += flat ? ", " : ",";
    first = false;
    out += gap;
    write(out, item, indent + 2);
  }
  if (!flat) out += '\n' + std::string(indent, ' ');
  out += ']';
}

void write(std::string& out, const Json& json, std::size_t indent) {
  if (json.is_object()) return write_object(out, json, indent);
  if (json.is_array()) return write_array(out, json, indent);
  if (json.is_number_float()) return write_float(out, json.get<double>());
  out += json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Json parse(std::string_view text, const std::string& what, Status status_of_bad_text) {
  if (text.size() > limits::max_small_text_bytes) {
    throw Error(status_of_bad_text, what + ": " + std::to_string(text.size()) + " bytes of JSON are too many");
  }
  try {
    return Json::parse(text.begin(), text.end(), Watch(what, status_of_bad_text));
  } catch (const Json::exception& error) {
    const std::string_view detail = error.what();
    const std::size_t end_of_tag = detail.find("] ");
    throw Error(status_of_bad_text,
                what + ": not JSON: " +
                    std::string(end_of_tag == std::string_view::npos ? detail : detail.substr(end_of_tag + 2)));
  }
}

std::string text_of(const Json& json) {
  std::string out;
  write(out, json, 0);
  return out + '\n';
}

}  // namespace tare::json
