#include "lib/container/pickle/read/pickle.hpp"

#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"
#include "tests/unit/container/python_pickles.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

Pickle read(std::string_view text, std::uint64_t begin = 0) {
  return read_pickle(std::make_shared<const Bytes>(bytes_of(text)), "test", begin);
}

std::string text_of(const Value& value) {
  if (const auto* number = std::get_if<Integer>(&value.data)) return number->text();
  if (const auto* number = std::get_if<double>(&value.data)) return float_text(*number);
  if (const auto* truth = std::get_if<bool>(&value.data)) return *truth ? "True" : "False";
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  return value.type;
}

std::string text_at(const Pickle& pickle, std::initializer_list<Step> steps) {
  return text_of(pickle.tree.value(node_at(pickle.tree, steps), 16));
}

std::string root_text(std::string_view text) {
  return text_at(read(text), {});
}

bool has_finding(const Pickle& pickle, std::string_view code) {
  for (const Finding& finding : pickle.findings) {
    if (finding.code == code) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every protocol gives the object that Python wrote") {
  for (std::size_t protocol = 0; protocol < 6; ++protocol) {
    INFO("protocol " << protocol);
    const std::string_view text = python_pickles[protocol];
    const Pickle pickle = read(text);
    CHECK(pickle.end == text.size());
    CHECK(pickle.protocol == (protocol < 2 ? 0 : protocol));
    CHECK(text_at(pickle, {"scale"}) == "65536.0");
    constexpr std::string_view odd[] = {"0.1", "-0.0", "inf", "nan", "5e-324"};
    for (std::size_t i = 0; i < std::size(odd); ++i) CHECK(text_at(pickle, {"odd", i}) == odd[i]);
    constexpr std::string_view ints[] = {"0",
                                         "255",
                                         "256",
                                         "65535",
                                         "65536",
                                         "-1",
                                         "-2147483648",
                                         "2147483648",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9223372036854775808",
                                         "1267650600228229401496703205376",
                                         "-1180591620717411303424"};
    for (std::size_t i = 0; i < std::size(ints); ++i) CHECK(text_at(pickle, {"ints", i}) == ints[i]);
    CHECK(text_at(pickle, {"fixed", 0u}) == "True");
    CHECK(text_at(pickle, {"fixed", 1u}) == "False");
    CHECK(text_at(pickle, {"fixed", 2u}) == "None");
    CHECK(pickle.tree.kind(node_at(pickle.tree, {"one"})) == Kind::tuple);
    CHECK(text_at(pickle, {"two", 1u}) == "2");
    CHECK(text_at(pickle, {"text"}) == "h\u00e9\u6a21\U0001f600 \n\\");
    CHECK(pickle.tree.text(node_at(pickle.tree, {"bytes"})) == "\0\xff'\n"sv);
    CHECK(pickle.tree.kind(node_at(pickle.tree, {"set"})) == Kind::set);
    CHECK(text_at(pickle, {"set", 0u}) == "7");
    CHECK(pickle.tree.kind(node_at(pickle.tree, {"empty", 0u})) == Kind::map);
    CHECK(pickle.tree.kind(node_at(pickle.tree, {"empty", 2u})) == Kind::tuple);
    CHECK(text_at(pickle, {"empty", 3u}).empty());
    CHECK(text_at(pickle, {"long"}).size() == 300);
    CHECK(node_at(pickle.tree, {"again", 0u}) == node_at(pickle.tree, {"again", 1u}));
  }
}

TEST_CASE("a scalar's span is the opcode with its argument") {
  const Pickle pickle = read("\x80\x02}(X\1\0\0\0aG\x40\xf0\0\0\0\0\0\0X\1\0\0\0bM\xd0\7u."sv);
  CHECK(pickle.tree.span(node_at(pickle.tree, {"a"})) == Span{10, 9});
  CHECK(pickle.tree.span(node_at(pickle.tree, {"b"})) == Span{25, 3});
}

TEST_CASE("a pickle inside a larger text has its spans in that text") {
  const Pickle pickle = read("before\x80\x02K\5.after"sv, 6);
  CHECK(pickle.tree.span(pickle.tree.root) == Span{8, 2});
  CHECK(pickle.end == 11);
}

TEST_CASE("the last value of a key counts, at the place of its first") {
  const Pickle pickle = read("}(X\1\0\0\0aK\1X\1\0\0\0bK\2X\1\0\0\0aK\3u."sv);
  CHECK(text_at(pickle, {"a"}) == "3");
  CHECK(text_at(pickle, {"b"}) == "2");
  CHECK(pickle.tree.items(pickle.tree.root).size() == 4);
  CHECK(pickle.tree.text(pickle.tree.items(pickle.tree.root)[0]) == "a");
  CHECK(has_finding(pickle, "duplicate-key"));
}

TEST_CASE("keys that Python takes for one are one") {
  const Pickle pickle = read("}(K\1K\5G\x3f\xf0\0\0\0\0\0\0K\6\x88K\7u."sv);
  CHECK(pickle.tree.items(pickle.tree.root).size() == 2);
  CHECK(text_of(pickle.tree.value(pickle.tree.items(pickle.tree.root)[1], 1)) == "7");
}

TEST_CASE("what is memoised and changed later shows the change") {
  // d = {}; d["self"] is put aside first, filled afterwards.
  const Pickle pickle = read("}q\1(X\1\0\0\0a}q\2uh\2X\1\0\0\0bK\7s0."sv);
  CHECK(text_at(pickle, {"a", "b"}) == "7");
}

TEST_CASE("a list that is appended to by turns keeps its order") {
  const Pickle pickle = read("](]q\1]q\2eh\1K\1ah\2K\2ah\1K\3a000."sv);
  CHECK(text_at(pickle, {0u, 0u}) == "1");
  CHECK(text_at(pickle, {0u, 1u}) == "3");
  CHECK(text_at(pickle, {1u, 0u}) == "2");
}

TEST_CASE("a value may hold itself") {
  const Pickle pickle = read("]q\1h\1a."sv);
  CHECK(pickle.tree.items(pickle.tree.root)[0] == pickle.tree.root);
  CHECK(has_finding(pickle, "self-reference"));
}

TEST_CASE("opcodes of protocol 0 read as text") {
  CHECK(root_text("I42\n."sv) == "42");
  CHECK(root_text("I01\n."sv) == "True");
  CHECK(root_text("I00\n."sv) == "False");
  CHECK(root_text("L-12345678901234567890L\n."sv) == "-12345678901234567890");
  CHECK(root_text("F6.1e-05\n."sv) == "6.1e-05");
  CHECK(root_text("Fnan\n."sv) == "nan");
  CHECK(root_text("V\\u00e9\\U0001f600x\n."sv) == "\u00e9\U0001f600x");
  CHECK(text_at(read("(lp0\nI1\naI2\na."sv), {1u}) == "2");
  CHECK(text_at(read("(dp0\nVa\np1\nI1\ns."sv), {"a"}) == "1");
  CHECK(text_at(read("(I1\nI2\ntp0\n."sv), {1u}) == "2");
  CHECK(text_at(read("(I1\np9\nI2\nl0g9\n."sv), {}) == "1");
}

TEST_CASE("integers in two's complement of any length read exactly") {
  CHECK(root_text("\x8a\0."sv) == "0");
  CHECK(root_text("\x8a\2\xff\0."sv) == "255");
  CHECK(root_text("\x8a\1\xff."sv) == "-1");
  CHECK(root_text("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv) == "119547037146038801333356");
  CHECK(root_text("\x8b\4\0\0\0\0\0\0\x80."sv) == "-2147483648");
  const Pickle padded = read("\x8a\x0c\1\0\0\0\0\0\0\0\0\0\0\0."sv);
  CHECK(padded.tree.integer(padded.tree.root) == Integer{1, {}});
  CHECK(root_text("\x8a\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff."sv) == "-2");
  CHECK(root_text("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0."sv) == "18446744073709551615");
}

TEST_CASE("opcodes of protocols 4 and 5 read with their memo counted") {
  CHECK(text_at(read("\x80\4\x95\x0b\0\0\0\0\0\0\0}\x94\x8c\1a\x94\x8c\1b\x94s."sv), {"a"}) == "b");
  CHECK(text_at(read("\x80\4]\x94(\x8c\1x\x94h\1e."sv), {1u}) == "x");
  CHECK(text_at(read("\x80\4\x8d\3\0\0\0\0\0\0\0abc."sv), {}) == "abc");
  CHECK(read("\x80\4\x8e\3\0\0\0\0\0\0\0abc."sv).tree.kind(0) == Kind::bytes);
  CHECK(read("\x80\5\x96\3\0\0\0\0\0\0\0abc."sv).tree.kind(0) == Kind::bytes);
  CHECK(text_at(read("\x80\4\x8f(K\1K\2\x90."sv), {1u}) == "2");
  CHECK(text_at(read("\x80\4(K\1K\2\x91."sv), {1u}) == "2");
}

TEST_CASE("unknown classes are opaque, and their attributes stay visible") {
  const Pickle pickle = read("\x80\2cmy.module\nThing\n)\x81}X\5\0\0\0scaleG\x40\xf0\0\0\0\0\0\0sb."sv);
  const Tree& tree = pickle.tree;
  CHECK(tree.kind(tree.root) == Kind::opaque);
  CHECK(tree.qualified_name(tree.root).module == "my.module");
  CHECK(tree.qualified_name(tree.root).name == "Thing");
  CHECK(text_at(pickle, {"scale"}) == "65536.0");
  REQUIRE(pickle.globals.size() == 1);
  CHECK(pickle.globals[0] == GlobalName{"my.module", "Thing", 2});
}

TEST_CASE("calls are kept and never made, however they are spelled") {
  for (const std::string_view text :
       {"cos\nsystem\n(X\2\0\0\0lstR."sv, "(X\2\0\0\0lsios\nsystem\n."sv, "(cos\nsystem\nX\2\0\0\0lso."sv,
        "\x80\4\x8c\2os\x8c\6system\x93X\2\0\0\0ls\x85R."sv, "cos\nsystem\nX\2\0\0\0ls\x85\x81."sv,
        "\x80\4\x8c\2os\x8c\6system\x93X\2\0\0\0ls\x85}\x92."sv}) {
    const Pickle pickle = read(text);
    INFO(escaped(text));
    CHECK(pickle.tree.kind(pickle.tree.root) == Kind::opaque);
    CHECK(pickle.tree.qualified_name(pickle.tree.root).name == "system");
    CHECK(has_finding(pickle, "dangerous-global"));
  }
}

TEST_CASE("an ordered dict is a map, with the attributes that BUILD gave it apart") {
  const Pickle pickle = read("ccollections\nOrderedDict\n)RX\1\0\0\0aK\1s}X\x09\0\0\0_metadataK\2sb."sv);
  CHECK(pickle.tree.kind(pickle.tree.root) == Kind::map);
  CHECK(text_at(pickle, {"a"}) == "1");
  CHECK(node_at(pickle.tree, {"_metadata"}) == nowhere);
}

TEST_CASE("what no Python could load is refused with its offset") {
  struct Case {
    std::string_view text, message;
  };
  const Case cases[] = {
      {""sv, "offset 0"},
      {"}"sv, "ends before STOP"},
      {"."sv, "takes a value where there is none"},
      {"u."sv, "no"},
      {"}(K\1u."sv, "key without a value"},
      {"K"sv, "passes the end"},
      {"X\xff\xff\xff\xff"sv, "passes the end"},
      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff."sv, "passes the end"},
      {"I12"sv, "never ends"},
      {"Iabc\n."sv, ""},
      {"Fabc\n."sv, ""},
      {"h\1."sv, "never set"},
      {"gx\n."sv, "none"},
      {"(0."sv, "where there is none"},
      {"}]K\1s."sv, "hash"},
      {"K\1K\2a."sv, ""},
      {"K\1K\2K\3s."sv, ""},
      {"\x97."sv, "buffer"},
      {"\x82\1."sv, "extension registry"},
      {"\x95\xff\0\0\0\0\0\0\0N."sv, "passes the end"},
      {"K\1K\2\x93."sv, "no text"},
      {"\xff."sv, "no opcode"},
      {"X\1\0\0\0\xff."sv, "UTF-8"},
  };
  for (const auto& [text, message] : cases) {
    INFO(escaped(text));
    try {
      read(text);
      FAIL_CHECK("it was read");
    } catch (const Error& error) {
      CHECK(error.status == Status::corrupt);
      CHECK(std::string(error.what()).find(message) != std::string::npos);
    }
  }
}

TEST_CASE("a pickle cut anywhere is refused") {
  for (const std::string_view text : python_pickles) {
    for (std::size_t size = 0; size < text.size(); ++size) {
      // Where a dot inside ends it early, Python loads it as well.
      if (size > 0 && text[size - 1] == '.') continue;
      INFO(size);
      CHECK_THROWS_AS(read(text.substr(0, size)), Error);
    }
  }
}

TEST_CASE("a hundred thousand levels of nesting neither recurse nor take long") {
  const std::string deep = std::string(100'000, ']') + std::string(99'999, 'a') + ".";
  const Pickle pickle = read(deep);
  CHECK(has_finding(pickle, "deep-nesting"));
  CHECK(pickle.tree.items(pickle.tree.root).size() == 1);
}

TEST_CASE("text with a lone surrogate is kept as it is and told") {
  const Pickle pickle = read("X\3\0\0\0\xed\xa0\x80."sv);
  CHECK(pickle.tree.text(pickle.tree.root) == "\xed\xa0\x80");
  CHECK(has_finding(pickle, "lone-surrogate"));
}

TEST_CASE("a memo number that no pickler gives costs no room") {
  const Pickle pickle = read("K\7r\377\377\377\377j\377\377\377\3770."sv);
  CHECK(text_at(pickle, {}) == "7");
  CHECK(has_finding(pickle, "memo-index"));
}

TEST_CASE("an array whose element type is no type has no value") {
  const auto container = open_image(bytes_of("\x80\2}X\1\0\0\0acnumpy.core.multiarray\nscalar\nNC\4abcd\x86Rs."sv));
  const Tree& tree = container->tree();
  REQUIRE(tree.kind(node_at(tree, {"a"})) == Kind::array);
  CHECK(tree.value(node_at(tree, {"a"}), 1).number() == nullptr);
}

TEST_CASE("a mark that was popped like a value is gone: what stands above the mark before it is one tuple") {
  const Pickle pickle = read("(K\1(0K\2t."sv);
  CHECK(text_at(pickle, {std::size_t{0}}) == "1");
  CHECK(text_at(pickle, {std::size_t{1}}) == "2");
}
