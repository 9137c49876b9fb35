// New values of a pickle, opcode by opcode: as torch's and NumPy's own pickles have them, but for the memo.
#include "lib/container/pickle/write/new_pickle.hpp"

#include <limits>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

std::string of_torch(const Document& document) {
  return std::string(as_text(torch_value(document, [](const DocumentTensor&) { return "k"s; })));
}

std::string of_numpy(const Document& document) {
  return std::string(as_text(numpy_value(document)));
}

DocumentTensor tensor(std::string_view type, std::vector<std::int64_t> shape, const std::string& elements) {
  return {element_type(type), std::move(shape), bytes_of(elements)};
}

const std::string one = "\0\0\x80\x3f"s;

}  // namespace

TEST_CASE("plain values are written alike for torch and for NumPy, ints of four bytes or of eight") {
  const std::pair<Document, std::string> cases[] = {
      {{std::monostate()}, "N"s},
      {{true}, "\x88"s},
      {{false}, "\x89"s},
      {{std::int64_t{5}}, "J\5\0\0\0"s},
      {{std::int64_t{-1}}, "J\xff\xff\xff\xff"s},
      {{std::int64_t{2147483647}}, "J\xff\xff\xff\x7f"s},
      {{std::int64_t{2147483648}}, "\x8a\x08\0\0\0\x80\0\0\0\0"s},
      {{std::int64_t{-2147483648}}, "J\0\0\0\x80"s},
      {{std::int64_t{-2147483649}}, "\x8a\x08\xff\xff\xff\x7f\xff\xff\xff\xff"s},
      {{0.5}, "G\x3f\xe0\0\0\0\0\0\0"s},
      {{-2.0}, "G\xc0\0\0\0\0\0\0\0"s},
      {{"ab"s}, "X\2\0\0\0ab"s},
      {{DocumentMap{{"a", {true}}, {"bc", {std::int64_t{1}}}}}, "}(X\1\0\0\0a\x88X\2\0\0\0bcJ\1\0\0\0u"s},
      {{DocumentName{"m.n", "C"}}, "cm.n\nC\n"s},
      {{DocumentCall{"m", "f", {{std::int64_t{1}}, {"x"s}}}}, "cm\nf\n(J\1\0\0\0X\1\0\0\0xtR"s},
      {{DocumentObject{"m", "C", {{"a", {1.0}}}}}, "cm\nC\n)\x81}(X\1\0\0\0aG\x3f\xf0\0\0\0\0\0\0ub"s},
      {{DocumentStream{bytes_of("a\xff")}},
       "c_io\nBytesIO\n)\x81"
       "c_codecs\nencode\nX\3\0\0\0a\xc3\xbfX\6\0\0\0latin1\x86RJ\2\0\0\0N\x87"
       "b"s},
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    INFO("case " << i);
    CHECK(of_torch(cases[i].first) == cases[i].second);
    CHECK(of_numpy(cases[i].first) == cases[i].second);
  }
}

TEST_CASE("a tensor is one of torch's: a storage of its own under a key, its shape, strides in rows, no gradient") {
  const std::string begin = "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n"s;
  const std::string key = "\nX\1\0\0\0kX\3\0\0\0cpu"s;
  const std::string end =
      "\x89"
      "ccollections\nOrderedDict\n)RtR";
  CHECK(of_torch({tensor("float32", {}, one)}) == begin + "FloatStorage" + key + "J\1\0\0\0tQJ\0\0\0\0(t(t"s + end);
  CHECK(of_torch({tensor("int64", {2}, std::string(16, '\0'))}) ==
        begin + "LongStorage" + key + "J\2\0\0\0tQJ\0\0\0\0(J\2\0\0\0t(J\1\0\0\0t"s + end);
  CHECK(of_torch({tensor("uint8", {2, 3, 4}, std::string(24, '\1'))}) ==
        begin + "ByteStorage" + key +
            "J\x18\0\0\0tQJ\0\0\0\0(J\2\0\0\0J\3\0\0\0J\4\0\0\0t(J\x0c\0\0\0J\4\0\0\0J\1\0\0\0t"s + end);
  for (const auto& [type, storage] : {std::pair{"float64", "DoubleStorage"}, std::pair{"int32", "IntStorage"}}) {
    const std::size_t size = element_type(type).size;
    CHECK(of_torch({tensor(type, {}, std::string(size, '\0'))}).find("ctorch\n"s + storage + "\n") !=
          std::string::npos);
  }
  try {
    of_torch({tensor("float16", {}, "ab")});
    FAIL("it was written");
  } catch (const Error& error) {
    CHECK(error.status == Status::refused);
    CHECK(std::string(error.what()) == "no scaler is stored as float16");
  }
}

TEST_CASE("a tensor is one of NumPy's arrays: its shape, its type as NumPy pickles it, rows, its bytes") {
  const auto array = [](const std::string& shape, const std::string& type, const std::string& bytes) {
    return "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n(J\0\0\0\0tC\1b\x87R(J\1\0\0\0"s + shape +
           "cnumpy\ndtype\nX\2\0\0\0"s + type + "\x89\x88\x87R(J\3\0\0\0X\1\0\0\0<NNN"s +
           "J\xff\xff\xff\xffJ\xff\xff\xff\xffJ\0\0\0\0tb\x89"
           "C"s +
           static_cast<char>(bytes.size()) + bytes + "tb";
  };
  CHECK(of_numpy({tensor("float32", {}, one)}) == array("(t", "f4", one));
  CHECK(of_numpy({tensor("float64", {2}, std::string(16, '\2'))}) ==
        array("(J\2\0\0\0t"s, "f8", std::string(16, '\2')));
  CHECK(of_numpy({tensor("int32", {}, one)}) == array("(t", "i4", one));
  CHECK(of_numpy({tensor("int64", {}, one + one)}) == array("(t", "i8", one + one));
  const std::string many(256, '\3');
  CHECK_THAT(of_numpy({tensor("float32", {64}, many)}), Catch::EndsWith("\x89"
                                                                        "B\0\1\0\0"s +
                                                                        many + "tb"));
  CHECK_THROWS_AS(of_numpy({tensor("uint8", {}, "a")}), Error);
}

TEST_CASE("a whole pickle begins with its protocol and ends with STOP, and its storages are numbered in order") {
  const Document both{DocumentMap{{"a", {tensor("float32", {}, one)}}, {"b", {tensor("float32", {}, "abcd")}}}};
  const TorchPickle made = new_torch_pickle(both);
  const std::string text(as_text(made.text));
  CHECK(text.starts_with("\x80\2}("));
  CHECK(text.ends_with("u."));
  CHECK(made.storages == std::vector<Bytes>{bytes_of(one), bytes_of("abcd")});
  CHECK(text.find("X\1\0\0\0"
                  "0X\3\0\0\0cpu"s) < text.find("X\1\0\0\0"
                                                "1X\3\0\0\0cpu"s));
  CHECK(as_text(new_numpy_pickle({true})) == "\x80\4\x88.");
  const std::string streamed(as_text(new_streamed_pickle({tensor("float32", {}, one)})));
  CHECK(
      streamed.starts_with("\x80\4"
                           "ctorch._utils\n_rebuild_tensor_v2\n(ctorch.storage\n_load_from_bytes\nB"));
  CHECK(
      streamed.ends_with("\x85RJ\0\0\0\0(t(t\x89"
                         "ccollections\nOrderedDict\n)RtR."s));
}

TEST_CASE("the entries of a map are set in another one") {
  CHECK(as_text(as_entries(bytes_of("}(X\1\0\0\0a\x88u"s))) == "(X\1\0\0\0a\x88u"s);
}
