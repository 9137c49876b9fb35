// One value of a file changed, and what a fresh read of the file makes of it.
#pragma once

#include <memory>
#include <variant>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

namespace tare::test {

struct Changed {
  FileChange change;
  Bytes image;
  std::unique_ptr<Container> container;
};

/// Changes the number at `steps`, checks that nothing else reads differently, and opens the result.
inline Changed change_value(const Bytes& image, std::initializer_list<Step> steps, const NodeValue& value) {
  const auto before = open_image(image);
  const NodeId node = node_at(before->tree(), steps);
  REQUIRE(node != nowhere);
  const NodeChange change{node, value, "a value"};
  Changed changed;
  changed.change = before->change({&change, 1});
  changed.image = applied(image, changed.change);
  changed.container = open_image(changed.image);
  CHECK(differing(before->tree(), changed.container->tree()) == std::vector<NodeId>{node});
  return changed;
}

/// The number at `steps`.
inline double number_at(const Container& container, std::initializer_list<Step> steps) {
  const NodeId node = node_at(container.tree(), steps);
  REQUIRE(node != nowhere);
  const Value value = container.tree().value(node, 64);
  REQUIRE(value.number() != nullptr);
  return value.as_double();
}

inline std::string type_at(const Container& container, std::initializer_list<Step> steps) {
  return container.tree().value(node_at(container.tree(), steps), 64).type;
}

/// How a file that was made to break readers is answered: refused, or opened with a finding of that code.
struct Answer {
  std::string_view file;
  Status status = Status::ok;
  std::string_view code = {};
};

inline void check_answer(const Answer& wanted) {
  INFO(wanted.file);
  try {
    const auto container = open_corpus(std::string("hostile/").append(wanted.file));
    CHECK(wanted.status == Status::ok);
    std::string codes;
    for (const Finding& finding : container->findings()) codes += finding.code + " ";
    CHECK_THAT(codes, Catch::Contains(std::string(wanted.code)));
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.status == wanted.status);
  }
}

}  // namespace tare::test
