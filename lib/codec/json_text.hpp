// JSON as tare takes and gives it. Taken: strict RFC 8259, no comments, no duplicate names, bounded in size and depth.
// Given: floats in the shortest text that reads back to the same double, nan and infinities as strings.
//
// The values are a type of our own: nlohmann_json's allocates in its destructor, which ends the process when there is
// no memory left. Its lexer and parser are what reads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/state/value.hpp"

namespace tare::json {

struct Json;
using Array = std::vector<Json>;
using Object = std::vector<std::pair<std::string, Json>>;  // in the order of the text

/// Numbers that are no values of their own, which would take five times their memory: a long list of integers alone, or
/// of floats alone, that was read; an array that is written, borrowed. Never empty but where it is borrowed.
using Numbers = std::shared_ptr<const StateArray>;

struct Json {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object, Numbers> value;

  Json() = default;
  Json(bool flag) : value(flag) {}
  Json(std::int64_t integer) : value(integer) {}
  Json(double real) : value(real) {}
  Json(std::string text) : value(std::move(text)) {}
  Json(std::string_view text) : value(std::string(text)) {}
  Json(const char* text) : value(std::string(text)) {}
  Json(Array items) : value(std::move(items)) {}
  Json(Object members) : value(std::move(members)) {}
  Json(Numbers numbers) : value(std::move(numbers)) {}

  template <class Kind>
  [[nodiscard]] const Kind* as() const {
    return std::get_if<Kind>(&value);
  }
};

/// Members one by one. (A braced list of them is not taken apart rightly by GCC 12 when memory runs out half-way.)
class Members {
 public:
  Members& add(std::string_view name, Json value) {
    object_.emplace_back();
    object_.back().first = name;
    object_.back().second = std::move(value);
    return *this;
  }
  /// Puts the value in the place of one of that name, if there is one.
  Members& set(std::string_view name, Json value);
  Object take() { return std::move(object_); }

 private:
  Object object_;
};

/// The member of that name; null where there is none.
const Json* find(const Object& object, std::string_view name);

/// Throws `status_of_bad_text` with `what` (a path, "the configuration") and the place in the message. Integers beyond
/// 64 bits become floats.
Json parse(std::string_view text, const std::string& what, Status status_of_bad_text);

/// Objects a line a member, arrays of plain values on one line, a newline at the end. `room`: as in gathered().
std::string text_of(const Json& json, std::size_t room = 0);

/// The same on one line, for files of a document a line.
std::string line_of(const Json& json);

/// Takes text piece by piece.
using TextSink = std::function<void(std::string_view piece)>;

/// A member that is a list of objects, each made when its turn comes and written before the next is: lists of thousands
/// are neither values nor text as a whole.
struct MadeList {
  std::string_view name;
  std::function<void(const std::function<void(const Json&)>& add)> make_each;
};
/// An object of the members in front, the list, and the members behind it, as text_of has it.
void write_text(const Object& front, const MadeList& list, const Object& behind, const TextSink& sink);

/// All that `write` gives the sink. `room`: about how many bytes, so that none of them is copied once more.
std::string gathered(const std::function<void(const TextSink& sink)>& write, std::size_t room = 0);

}  // namespace tare::json
