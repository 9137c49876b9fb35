#include "lib/state/rule_memory.hpp"

#include <bit>

#include "kernels/rule/policy.hpp"
#include "lib/state/role.hpp"

namespace tare {
namespace {

/// fairseq's second absolute step, which no role stands for.
constexpr std::string_view last_rescale = "last_rescale_iter";

bool is_absolute_step(const rule::FieldSpec& field) {
  return field.role == name(Role::step) || field.role == name(Role::last_overflow_step) || field.name == last_rescale;
}

std::int64_t bits_of(const rule::Number& number) {
  return number.kind == rule::NumberKind::real ? std::bit_cast<std::int64_t>(number.real) : number.integer;
}

}  // namespace

std::vector<std::int64_t> memory_of(const rule::RunningState& scaler) {
  const auto& fields = rule::spec_of(scaler.policy.id).fields;
  std::int64_t now = 0;
  for (const rule::FieldSpec& field : fields) {
    if (field.role == name(Role::step)) now = bits_of(field.read(scaler.state));
  }
  std::vector<std::int64_t> memory;
  memory.reserve(fields.size());
  for (const rule::FieldSpec& field : fields) {
    if (field.role == name(Role::scale)) continue;
    const std::int64_t value = bits_of(field.read(scaler.state));
    memory.push_back(is_absolute_step(field) ? rule::wrapping_subtract(value, now) : value);
  }
  return memory;
}

}  // namespace tare
