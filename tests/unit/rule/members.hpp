// Names of a struct's members, so that a trace can be put in and compared. Written a second time on purpose: these
// lists and the policy tables check each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/rule/all.hpp"
#include "tests/unit/rule/traces.hpp"

namespace tare::test {

inline void put(float& into, const rule::Number& value) {
  into = static_cast<float>(rule::value_of(value));
}
inline void put(double& into, const rule::Number& value) {
  into = rule::value_of(value);
}
inline void put(int32_t& into, const rule::Number& value) {
  into = static_cast<int32_t>(value.integer);
}
inline void put(int64_t& into, const rule::Number& value) {
  into = value.integer;
}
inline void put(bool& into, const rule::Number& value) {
  into = value.integer != 0;
}
inline void put(rule::Number& into, const rule::Number& value) {
  into = value;
}

inline rule::Number got(float value) {
  return rule::real_number(value);
}
inline rule::Number got(double value) {
  return rule::real_number(value);
}
inline rule::Number got(int32_t value) {
  return rule::integer_number(value);
}
inline rule::Number got(int64_t value) {
  return rule::integer_number(value);
}
inline rule::Number got(bool value) {
  return rule::boolean_number(value);
}
inline rule::Number got(const rule::Number& value) {
  return value;
}

/// One member: its name, and how a Number gets in and out.
template <class Object>
struct Named {
  template <class Value>
  Named(const char* member_name, Value Object::*member)
      : name(member_name),
        write([member](Object& object, const rule::Number& value) { put(object.*member, value); }),
        read([member](const Object& object) { return got(object.*member); }) {}

  std::string name;
  std::function<void(Object&, const rule::Number&)> write;
  std::function<rule::Number(const Object&)> read;
};

template <class Object>
using Members = std::vector<Named<Object>>;

/// Sets the member of that name; false when there is none.
template <class Object>
bool put(Object& object, const Members<Object>& members, const std::string& name, const Json& value) {
  for (const Named<Object>& named : members) {
    if (name != named.name) continue;
    named.write(object, number_of(value));
    return true;
  }
  return false;
}

/// The member of that name; none when there is none.
template <class Object>
rule::Number got(const Object& object, const Members<Object>& members, const std::string& name) {
  for (const Named<Object>& named : members) {
    if (name == named.name) return named.read(object);
  }
  return {};
}

}  // namespace tare::test
