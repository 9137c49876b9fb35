#include "lib/dialect/flags.hpp"

#include <algorithm>
#include <optional>

#include "lib/base/text.hpp"

namespace tare {
namespace {

std::optional<std::string> text_of(const StateValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return float_text(*real);
  return std::nullopt;
}

const Flag* flag_of(const Dialect& dialect, const ToldValue& value) {
  const auto is_it = [&](const Flag& flag) { return flag.role ? flag.role == value.role : flag.name == value.name; };
  const auto flag = std::ranges::find_if(dialect.flags.each, is_it);
  return flag == dialect.flags.each.end() ? nullptr : &*flag;
}

}  // namespace

bool is_told(const Dialect& dialect, const ToldValue& value) {
  return flag_of(dialect, value) != nullptr;
}

std::string flags_for(const Dialect& dialect, std::span<const ToldValue> values) {
  const Flags& flags = dialect.flags;
  std::string all;
  for (const ToldValue& value : values) {
    const Flag* flag = flag_of(dialect, value);
    const auto text = text_of(value.value);
    if (flag == nullptr || !text) continue;
    if (!all.empty()) all += flags.between;
    all.append(flag->text).append(*text);
  }
  if (all.empty()) return all;
  return std::string(flags.before).append(all).append(flags.after);
}

}  // namespace tare
