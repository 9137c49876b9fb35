// Small texts of an edit: keys that are renamed, what a user wrote, values as they are told.
#include "lib/base/error.hpp"
#include "lib/edit/fp8_keys.hpp"
#include "lib/edit/request.hpp"
#include "lib/edit/root_key.hpp"
#include "lib/edit/value_text.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

Value array(std::vector<std::int64_t> shape, int count) {
  Bytes bytes;
  for (int i = 0; i < count; ++i) append_le(bytes, static_cast<float>(i) + 0.5F);
  return {PackedArray{element_type("float32"), std::move(shape), std::move(bytes)}, "a tensor"};
}

}  // namespace

TEST_CASE("a part of a path is renamed wherever it stands whole between dots, and nowhere else") {
  struct Case {
    const char *path, *from, *to, *after;
  };
  for (const auto& [path, from, to, after] :
       {Case{"a.b.c", "b", "x", "a.x.c"}, Case{"b.a", "b", "x", "x.a"}, Case{"a.b", "b", "x", "a.x"},
        Case{"b", "b", "x", "x"}, Case{"ab.b.ba", "b", "x", "ab.x.ba"}, Case{"b.b.b", "b", "bb", "bb.bb.bb"},
        Case{"a.b.c", "a.b", "z", "z.c"}, Case{"xa.b", "a.b", "z", "xa.b"}, Case{"a.bx", "a.b", "z", "a.bx"},
        Case{"b.b.b", "b.b", "z", "z.b"}, Case{"a.b.c", "", "z", "a.b.c"}, Case{"a.b.c", "d", "z", "a.b.c"},
        Case{"bb.b", "b", "x", "bb.x"}, Case{"", "b", "x", ""}, Case{"b.c.b", "b", "a.b", "a.b.c.a.b"}}) {
    INFO(path << " with " << from << " as " << to);
    CHECK(renamed(path, from, to) == after);
  }
}

TEST_CASE("what stands under a root key stands under its new name") {
  CHECK(under_root_key("scaler", "grad_scaler") == "grad_scaler");
  CHECK(under_root_key("scaler.a", "k") == "k.a");
  CHECK(under_root_key("scaler.a.b", "k") == "k.a.b");
}

TEST_CASE("an assignment is a key, the first equals sign, and all that follows it") {
  const auto parsed = [](const std::string& text) {
    const Assignment made = parse_assignment(text);
    return made.key + "|" + std::get<std::string>(made.value);
  };
  CHECK(parsed("scale=2") == "scale|2");
  CHECK(parsed("scale=2=3") == "scale|2=3");
  CHECK(parsed("s=") == "s|");
  for (const char* text : {"scale", "=2", "", "="}) {
    try {
      parse_assignment(text);
      FAIL(text << " was taken");
    } catch (const Error& error) {
      CHECK(error.status == Status::invalid_argument);
      CHECK(std::string(error.what()) == "'" + std::string(text) + "' is no KEY=VALUE");
      CHECK(error.hint == "write it as scale=65536");
    }
  }
}

TEST_CASE("a value is told as its framework would write it, and of many elements the first six") {
  CHECK(value_text({true, "bool"}) == "true");
  CHECK(value_text({false, "bool"}) == "false");
  CHECK(value_text({Integer{-5, {}}, "int"}) == "-5");
  CHECK(value_text({Integer{0, "99999999999999999999"}, "int"}) == "99999999999999999999");
  CHECK(value_text({65536.0, "float"}) == "65536.0");
  CHECK(value_text({std::string("max"), "str"}) == "max");
  CHECK(value_text({std::monostate(), "None"}) == "None");
  CHECK(value_text({ValueList{{2.5, "float"}}, "tensor:float32[1]"}) == "2.5");
  CHECK(value_text(array({0}, 0)) == "[]");
  CHECK(value_text(array({1}, 1)) == "[0.5]");
  CHECK(value_text(array({6}, 6)) == "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5]");
  CHECK(value_text(array({7}, 7)) == "[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, ...]");
  CHECK(value_text(array({2, 3}, 6)) == "2x3 [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]");
  CHECK(value_text({PackedArray{element_type("complex64"), {2}, Bytes(16)}, "a tensor"}) == "[complex, complex]");
  CHECK(value_text(array({4, 2}, 8)) == "4x2 [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, ...]");
}
