// A JSON document that a checkpoint holds beside its values, asked for what its format says must stand there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/tree/plain_tree.hpp"

namespace tare {

class JsonDocument;

/// A value, or that there is none. What is not what it is asked to be is thrown as `corrupt`, named.
class JsonValue {
 public:
  /// `key` is the name that it stands under.
  JsonValue(const JsonDocument& document, NodeId node, std::string_view key)
      : document_(&document), node_(node), key_(key) {}

  /// None, where this has no such member.
  [[nodiscard]] JsonValue find(std::string_view key) const;
  [[nodiscard]] JsonValue at(std::string_view key) const;
  /// Of a list; of an object its values.
  [[nodiscard]] std::vector<JsonValue> items() const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::string_view text_or(std::string_view otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers() const;
  /// A text as it is, a number in decimal.
  [[nodiscard]] std::string word() const;

 private:
  [[nodiscard]] Kind kind() const;
  [[noreturn]] void fail(std::string_view problem) const;

  const JsonDocument* document_;
  NodeId node_;
  std::string_view key_;
};

class JsonDocument {
 public:
  /// Throws `corrupt`, naming `name`, where `text` is no JSON, and `refused` where it is larger or nested deeper than
  /// lib/base/limits.hpp allows, or asks for more than is left of `budget`: that of what it stands in, which has back
  /// what the document took when that is gone.
  JsonDocument(ByteView text, std::string name, const std::shared_ptr<Budget>& budget = nullptr);

  /// Valid as long as the document.
  [[nodiscard]] JsonValue root() const { return {*this, tree().root, "the document"}; }
  [[nodiscard]] const Tree& tree() const { return contents_.tree(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  PlainTree contents_;
};

}  // namespace tare
