// Documents beside a checkpoint's values: what is asked of them, and what they are refused for.

#include "lib/json/document.hpp"
#include "lib/base/bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"

namespace tare {
namespace {

JsonDocument document_of(std::string_view text) {
  return {as_bytes(text), "zarr.json"};
}

/// The message of what `ask` throws at the root of `text`.
template <class Ask>
std::string refusal(std::string_view text, const Ask& ask) {
  try {
    const JsonDocument document = document_of(text);
    static_cast<void>(ask(document.root()));
  } catch (const Error& error) {
    CHECK(error.status == Status::corrupt);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a document gives what it holds") {
  const JsonDocument document = document_of(R"({"a":{"b":["x",7]},"n":null,"shape":[2,-1],"none":[]})");
  const JsonValue root = document.root();
  const std::vector<JsonValue> items = root.at("a").at("b").items();
  REQUIRE(items.size() == 2);
  CHECK(items[0].text() == "x");
  CHECK(items[0].word() == "x");
  CHECK(items[1].word() == "7");
  CHECK(root.at("n").is_null());
  CHECK(root.at("shape").integers() == std::vector<std::int64_t>{2, -1});
  CHECK(root.at("none").integers().empty());
  CHECK(root.items().size() == 4);
  CHECK(root.find("c").find("d").text_or("otherwise") == "otherwise");
}

TEST_CASE("what a document holds otherwise than it should is named") {
  CHECK(refusal("{}", [](JsonValue root) { return root.at("shape"); }) == "zarr.json: shape is missing");
  CHECK(refusal("[]", [](JsonValue root) { return root.at("shape"); }) == "zarr.json: shape is missing");
  CHECK(refusal(R"({"id":4})", [](JsonValue root) { return root.at("id").text(); }) == "zarr.json: id is no text");
  CHECK(refusal(R"({"id":4})", [](JsonValue root) { return root.find("id").text_or("x"); }) ==
        "zarr.json: id is no text");
  CHECK(refusal(R"({"id":4})", [](JsonValue root) { return root.at("id").items(); }) == "zarr.json: id holds nothing");
  CHECK(refusal(R"({"id":[]})", [](JsonValue root) { return root.at("id").word(); }) ==
        "zarr.json: id is neither a text nor an integer");
  for (const char* shape : {R"({"shape":["4"]})", R"({"shape":[4.0]})", R"({"shape":[9223372036854775808]})"}) {
    INFO(shape);
    CHECK(refusal(shape, [](JsonValue root) { return root.at("shape").integers(); }) ==
          "zarr.json: shape holds something else than integers of 64 bits");
  }
}

TEST_CASE("documents beyond the limits are refused") {
  const auto status_of = [](const std::string& text) { return test::status_of([&] { document_of(text); }); };
  CHECK(status_of("{") == Status::corrupt);
  CHECK(status_of(std::string(limits::max_small_text_bytes + 1, ' ')) == Status::refused);
  CHECK(status_of(std::string(limits::max_depth + 1, '[')) == Status::refused);
}

}  // namespace tare
