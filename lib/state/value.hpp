// What a state's fields hold: small, typed, ordered. A Python int and a float stay told apart, because checkpoints show
// the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tare {

/// A window list, an amax history, names of tensors. `shape` has the product of its sizes as many values, in C order.
struct StateArray {
  std::vector<std::uint64_t> shape;
  std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<float>, std::vector<std::string>> values;

  [[nodiscard]] std::size_t size() const;
  friend bool operator==(const StateArray&, const StateArray&) = default;
};

/// Something of another shape (an object, a mixed list) that a state file held: kept as its JSON text, never looked
/// into.
struct OpaqueJson {
  std::string text;
  friend bool operator==(const OpaqueJson&, const OpaqueJson&) = default;
};

using StateValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, StateArray, OpaqueJson>;

/// The numbers are those of the C ABI (tare_state_kind): never changed, never reused.
enum class ValueKind : std::int32_t { none = 0, number = 1, integer = 2, boolean = 3, text = 4, array = 5, json = 6 };

ValueKind kind_of(const StateValue& value);
/// "an integer", "text" ... for messages.
std::string_view words_for(ValueKind kind);
/// "true", "3", "0.5"; nothing for what is no number.
std::optional<std::string> number_text(const StateValue& value);

/// Values by name, in the order in which they came. Names are few: found by looking at each.
class StateSection {
 public:
  struct Entry {
    std::string name;
    StateValue value;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  [[nodiscard]] const StateValue* find(std::string_view name) const;
  [[nodiscard]] StateValue* find(std::string_view name);
  /// Replaces the value of that name, or appends it.
  void set(std::string_view name, StateValue value);
  /// Takes the entry out; false where there is none.
  bool erase(std::string_view name);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }
  friend bool operator==(const StateSection&, const StateSection&) = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace tare
