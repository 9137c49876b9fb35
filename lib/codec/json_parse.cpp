#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/budget.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/codec/json_text.hpp"

namespace tare::json {
namespace {

/// A list of that kind alone, as an array; null for any other.
template <class Item>
Numbers numbers_of(const Array& items) {
  if (!std::ranges::all_of(items, [](const Json& item) { return item.as<Item>() != nullptr; })) return nullptr;
  std::vector<Item> values;
  values.reserve(items.size());
  for (const Json& item : items) values.push_back(*item.as<Item>());
  return std::make_shared<const StateArray>(StateArray{{items.size()}, std::move(values)});
}

/// Builds the values as nlohmann_json's parser tells of them.
class Builder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Builder(const std::string& what, Status status, std::uint64_t size)
      : what_(what), status_(status), budget_(what, size) {}

  Json take() { return std::move(root_); }

  bool null() {
    place();
    return true;
  }
  bool boolean(bool flag) { return add(flag); }
  bool number_integer(number_integer_t integer) { return add(std::int64_t{integer}); }
  bool number_unsigned(number_unsigned_t integer) {
    constexpr auto most = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return integer <= most ? add(static_cast<std::int64_t>(integer)) : add(static_cast<double>(integer));
  }
  bool number_float(number_float_t real, const string_t&) { return add(real); }
  bool string(string_t& text) { return add(std::move(text)); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Array()); }
  bool end_array() {
    pack(*open_.back());
    return close();
  }

  bool key(string_t& name) {
    auto& members = std::get<Object>(open_.back()->value);
    if (name.find('\0') != std::string::npos) refuse("a name holds a NUL character");
    if (find(members, name) != nullptr) refuse("\"" + name + "\" is there twice");
    if (members.size() >= limits::max_json_names) refuse("too many names in one object");
    members.emplace_back();
    members.back().first = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    const std::string_view detail = error.what();
    const std::size_t end_of_tag = detail.find("] ");
    std::string message("not JSON: ");
    refuse(message.append(detail.substr(end_of_tag == std::string_view::npos ? 0 : end_of_tag + 2)));
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const { throw Error(status_, what_ + ": " + problem); }

  /// In an array that grows by copying.
  static constexpr std::uint64_t bytes_a_value = 2 * sizeof(Json);

  /// Where the next value goes: the root, the end of an array, or the member whose name came last.
  Json& place() {
    budget_.take_memory(bytes_a_value);
    if (open_.empty()) return root_;
    if (auto* items = std::get_if<Array>(&open_.back()->value)) return items->emplace_back();
    return std::get<Object>(open_.back()->value).back().second;
  }

  bool add(Json value) {
    place() = std::move(value);
    return true;
  }

  bool open(Json container) {
    if (open_.size() >= limits::max_json_depth) refuse("nested too deeply");
    Json& at = place();
    at = std::move(container);
    open_.push_back(&at);  // stays where it is: what holds it does not grow before it is closed
    return true;
  }

  /// Of short lists an array would take more.
  static void pack(Json& list) {
    constexpr std::size_t few = 8;
    const auto& items = std::get<Array>(list.value);
    if (items.size() < few) return;
    Numbers numbers = numbers_of<std::int64_t>(items);
    if (numbers == nullptr) numbers = numbers_of<double>(items);
    if (numbers != nullptr) list.value = std::move(numbers);
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& what_;
  Status status_;
  Budget budget_;
  Json root_;
  std::vector<Json*> open_;
};

}  // namespace

const Json* find(const Object& object, std::string_view name) {
  const auto found = std::ranges::find(object, name, &Object::value_type::first);
  return found == object.end() ? nullptr : &found->second;
}

Json parse(std::string_view text, const std::string& what, Status status_of_bad_text) {
  if (text.size() > limits::max_state_bytes) {
    throw Error(status_of_bad_text, what + ": " + std::to_string(text.size()) + " bytes of JSON are too many");
  }
  Builder builder(what, status_of_bad_text, text.size());
  try {
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const Error& error) {
    if (error.status != Status::refused) throw;
    throw Error(status_of_bad_text, error.what());
  }
  return builder.take();
}

}  // namespace tare::json
