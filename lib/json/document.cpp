#include "lib/json/document.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

ByteView small_enough(ByteView text, const std::string& name) {
  if (text.size() <= limits::max_small_text_bytes) return text;
  throw Error(Status::refused, fmt::format("{}: {} bytes of JSON are too many", name, text.size()));
}

}  // namespace

JsonDocument::JsonDocument(ByteView text, std::string name, const std::shared_ptr<Budget>& budget)
    : name_(std::move(name)),
      contents_(read_json(small_enough(text, name_), name_, std::make_shared<Budget>(name_, text.size(), budget))) {}

Kind JsonValue::kind() const {
  if (node_ == nowhere) fail("is missing");
  return document_->tree().kind(node_);
}

void JsonValue::fail(std::string_view problem) const {
  throw Error(Status::corrupt, fmt::format("{}: {} {}", document_->name(), key_, problem),
              "the file is damaged; take another copy");
}

JsonValue JsonValue::find(std::string_view key) const {
  return {*document_, document_->tree().find(node_, key), key};
}

JsonValue JsonValue::at(std::string_view key) const {
  const JsonValue member = find(key);
  if (member.node_ == nowhere) member.fail("is missing");
  return member;
}

std::vector<JsonValue> JsonValue::items() const {
  const Kind kind = this->kind();
  if (kind != Kind::list && kind != Kind::map) fail("holds nothing");
  const auto nodes = document_->tree().items(node_);
  const std::size_t step = kind == Kind::map ? 2 : 1;
  std::vector<JsonValue> values;
  values.reserve(nodes.size() / step);
  for (std::size_t i = step - 1; i < nodes.size(); i += step) values.emplace_back(*document_, nodes[i], key_);
  return values;
}

bool JsonValue::is_null() const {
  return kind() == Kind::none;
}

std::string_view JsonValue::text() const {
  if (kind() != Kind::string) fail("is no text");
  return document_->tree().text(node_);
}

std::string_view JsonValue::text_or(std::string_view otherwise) const {
  return node_ == nowhere ? otherwise : text();
}

std::vector<std::int64_t> JsonValue::integers() const {
  if (kind() != Kind::list) fail("is no list");
  std::vector<std::int64_t> numbers;
  for (const NodeId item : document_->tree().items(node_)) {
    const bool is_integer = document_->tree().kind(item) == Kind::integer;
    const Integer integer = is_integer ? document_->tree().integer(item) : Integer();
    if (!is_integer || integer.is_big()) fail("holds something else than integers of 64 bits");
    numbers.push_back(integer.value);
  }
  return numbers;
}

std::string JsonValue::word() const {
  if (kind() != Kind::string && kind() != Kind::integer) fail("is neither a text nor an integer");
  return document_->tree().key_text(node_);
}

}  // namespace tare
