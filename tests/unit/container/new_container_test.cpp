// Files written from nothing, in every format that is: what goes in comes back, or is refused.
#include "lib/container/new_container.hpp"

#include <algorithm>
#include <string>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/changed.hpp"

using namespace tare;
using namespace tare::test;

namespace {

constexpr std::string_view formats[] = {"torch_zip", "pickle", "msgpack", "npz", "mindspore"};
constexpr std::string_view types[] = {"float32", "float64", "float16", "bfloat16", "int32",
                                      "int64",   "int16",   "uint8",   "int8",     "bool"};

/// No two elements side by side are alike.
Bytes elements(std::size_t count, std::size_t size) {
  Bytes all(count * size);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i % 251 % (size == 1 ? 2 : 256));
  return all;
}

/// NumPy's classes in a pickle are noted.
bool is_note(const Finding& finding) {
  return finding.severity == Severity::note;
}

}  // namespace

TEST_CASE("an array of every type and of any size comes back as it went into a new file, or its type is refused") {
  for (const std::string_view format : formats) {
    for (const std::string_view type : types) {
      std::size_t written = 0;
      for (const std::size_t count : {1U, 2U, 63U, 64U, 65U, 16'384U}) {
        INFO(format << ", " << count << " of " << type);
        const DocumentTensor tensor{
            element_type(type), {static_cast<std::int64_t>(count)}, elements(count, element_type(type).size)};
        try {
          const auto container = open_image(new_container(format, {DocumentMap{{"a", {tensor}}}}, "scaler"));
          CHECK(std::ranges::all_of(container->findings(), is_note));
          const NodeId node = node_at(container->tree(), {"a"});
          REQUIRE(node != nowhere);
          CHECK(container->tree().tensor(node).type.name == type);
          CHECK(container->tree().tensor(node).shape == tensor.shape);
          CHECK(container->tree().reader()->elements(node) == tensor.elements);
          ++written;
        } catch (const Error& error) {
          CHECK(error.status == Status::refused);
          CHECK_THAT(error.what(), Catch::EndsWith("is stored as " + std::string(type)));
        }
      }
      INFO(format << " of " << type);
      CHECK((written == 0 || written == 6));
      if (type == "float32" || type == "int32" || type == "int64") CHECK(written == 6);
    }
  }
}

TEST_CASE("of a format that nothing is written in from nothing, that is said") {
  CHECK_THROWS_WITH(new_container("hdf5", {DocumentMap{}}, "scaler"), "no hdf5 file is written from nothing");
}

TEST_CASE("formats of arrays alone refuse what is none, by its name") {
  for (const std::string_view format : {"npz", "mindspore"}) {
    CHECK_THROWS_WITH(new_container(format, {DocumentMap{{"scale", {2.0}}}}, "scaler"),
                      Catch::Contains("scale: ") && Catch::Contains("alone"));
  }
}
