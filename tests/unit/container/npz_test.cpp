// numpy's files: .npz, .npy, and joblib's pickles with arrays between their opcodes.

#include <algorithm>
#include <array>

#include "tests/catch.hpp"
#include "tests/unit/container/changed.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

constexpr Answer answers[] = {
    {"npz_headers/state.npz", Status::ok, "array-not-read"},
    {"npz_object_pickle/state.npz", Status::ok, "array-not-read"},
    {"npz_truncated/state.npz", Status::corrupt},
    {"npz_two_members/state.npz", Status::ok, "duplicate-entry"},
};

/// A .npy of version 1 with that header, which is padded as numpy does, and those elements.
Bytes npy(std::string header, std::string_view elements) {
  header.resize(118, ' ');
  return bytes_of(std::string("\x93NUMPY\x01\0\x76\0"sv).append(header).append(elements));
}

}  // namespace

TEST_CASE("slashes and dots in the names of an .npz are levels") {
  for (const auto* file : {"numpy/npz_flat/state.npz", "numpy/npz_compressed/state.npz"}) {
    INFO(file);
    const auto container = open_corpus(file);
    CHECK(container->format() == "npz");
    CHECK(container->findings().empty());
    CHECK(type_at(*container, {"scaler", "growth_interval"}) == "numpy:int64[]");
  }
  CHECK(number_at(*open_corpus("numpy/npz_compressed/state.npz"), {"scaler", "scale"}) == 8192);
}

TEST_CASE("a stored array is patched, a compressed one appended") {
  const Bytes flat = corpus_bytes("numpy/npz_flat/state.npz");
  const Changed patched = change_value(flat, {"scaler", "scale"}, 32.0);
  CHECK(number_at(*patched.container, {"scaler", "scale"}) == 32);
  CHECK(patched.image.size() == flat.size());
  CHECK(patched.container->findings().empty());
  const Changed appended =
      change_value(corpus_bytes("numpy/npz_compressed/state.npz"), {"scaler", "_growth_tracker"}, Integer{7, {}});
  CHECK(number_at(*appended.container, {"scaler", "_growth_tracker"}) == 7);
  CHECK(appended.change.append.has_value());
  CHECK(appended.container->findings().empty());
}

TEST_CASE("two compressed arrays change at once") {
  const Bytes image = corpus_bytes("numpy/npz_compressed/state.npz");
  const auto before = open_image(image);
  const NodeChange changes[] = {{node_at(before->tree(), {"scaler", "scale"}), 2.0, "scale"},
                                {node_at(before->tree(), {"scaler", "growth_interval"}), Integer{9, {}}, "interval"}};
  const auto after = open_image(applied(image, before->change(changes)));
  CHECK(number_at(*after, {"scaler", "scale"}) == 2);
  CHECK(number_at(*after, {"scaler", "growth_interval"}) == 9);
  CHECK(number_at(*after, {"scaler", "_growth_tracker"}) == 2);
}

TEST_CASE("an .npy of objects is what the pickle in it holds") {
  const Bytes image = corpus_bytes("numpy/npy_dict/state.npy");
  const auto container = open_image(image);
  CHECK(container->format() == "npy");
  CHECK(number_at(*container, {"scaler", "scale"}) == 512);
  const Changed changed = change_value(image, {"scaler", "_growth_tracker"}, Integer{70000, {}});
  CHECK(number_at(*changed.container, {"scaler", "_growth_tracker"}) == 70000);
}

TEST_CASE("arrays one behind the other have no names") {
  const auto container = open_corpus("flax/jmp_equinox/state.eqx");
  CHECK(container->format() == "npy_stream");
  CHECK(container->tree().items(container->tree().root).size() == 5);
  REQUIRE(container->findings().size() == 1);
  CHECK(container->findings()[0].code == "arrays-without-names");
}

TEST_CASE("only a description of an array is a header") {
  const Bytes one = npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "\x3f\x80\0\0\x40\0\0\0"sv);
  const auto container = open_image(one);
  const Value value = container->tree().value(container->tree().root, 8);
  CHECK(value.type == "numpy:float32[2]");
  const Bytes columns = npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }", "\x01\x04\x02\x05\x03\x06"sv);
  const auto matrix = open_image(columns);
  CHECK(matrix->tree().reader()->elements(matrix->tree().root) == bytes_of("\x01\x02\x03\x04\x05\x06"sv));
  for (const auto* header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (__import__('os').system('x'),), }",
        "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "[]", "",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9,)}"}) {
    INFO(header);
    CHECK_THROWS_AS(open_image(npy(header, "\0\0\0\0\0\0\0\0"sv)), Error);
  }
}

TEST_CASE(
    "elements of an array change where they stand, whichever index moves fastest and whichever byte comes first") {
  const auto changed = [](const char* type, bool is_fortran, std::string_view elements, const NewElements& wanted) {
    const std::string order = is_fortran ? "True" : "False";
    const Bytes image =
        npy("{'descr': '" + std::string(type) + "', 'fortran_order': " + order + ", 'shape': (2, 3), }", elements);
    const auto before = open_image(image);
    const NodeChange change{before->tree().root, wanted, "elements"};
    const Bytes after = applied(image, before->change({&change, 1}));
    CHECK(after.size() == image.size());
    const auto reopened = open_image(after);
    return std::pair(Bytes(after.end() - static_cast<std::ptrdiff_t>(elements.size()), after.end()),
                     reopened->tree().reader()->elements(reopened->tree().root));
  };
  // rows 1 2 3 and 4 5 6; 9 in place of 2, 8 in place of 4
  const NewElements both = {{1, 9}, {3, 8}};
  const auto [rows, as_rows] = changed("|i1", false, "\x01\x02\x03\x04\x05\x06"sv, both);
  CHECK(rows == bytes_of("\x01\x09\x03\x08\x05\x06"sv));
  CHECK(as_rows == rows);
  const auto [columns, from_columns] = changed("|i1", true, "\x01\x04\x02\x05\x03\x06"sv, both);
  CHECK(columns == bytes_of("\x01\x08\x09\x05\x03\x06"sv));
  CHECK(from_columns == rows);
  const auto [column, with_column] = changed("|i1", true, "\x01\x04\x02\x05\x03\x06"sv, {{2, 7, 2, 3}});
  CHECK(column == bytes_of("\x01\x04\x02\x05\x07\x07"sv));
  CHECK(with_column == bytes_of("\x01\x02\x07\x04\x05\x07"sv));
  const auto [big, as_little] = changed(">i2", true, "\0\x01\0\x04\0\x02\0\x05\0\x03\0\x06"sv, {{5, 258}});
  CHECK(big == bytes_of("\0\x01\0\x04\0\x02\0\x05\0\x03\x01\x02"sv));
  CHECK(as_little == bytes_of("\x01\0\x02\0\x03\0\x04\0\x05\0\x02\x01"sv));
}

TEST_CASE("an int64 of an array is written to its last digit, where a double would be its neighbour") {
  for (const bool is_big : {false, true}) {
    const std::string order = is_big ? ">" : "<";
    const Bytes image =
        npy("{'descr': '" + order + "i8', 'fortran_order': False, 'shape': (), }", "\0\0\0\0\0\0\0\0"sv);
    const auto before = open_image(image);
    const NodeChange change{before->tree().root, Integer{9007199254740993, {}}, "n"};
    const Bytes after = applied(image, before->change({&change, 1}));
    Bytes last(after.end() - 8, after.end());
    if (is_big) std::ranges::reverse(last);
    CHECK(load_le<std::int64_t>(last.data()) == 9007199254740993);
  }
}

TEST_CASE("an array of a stream changes where it stands, and what is behind it stays") {
  const Bytes image = corpus_bytes("flax/jmp_equinox/state.eqx");
  const auto before = open_image(image);
  const auto arrays = before->tree().items(before->tree().root);
  for (const NodeId node : arrays) {
    if (before->tree().tensor(node).count() != 1) continue;
    const double other = before->tree().value(node, 1).as_double() + 1;
    const NodeChange change{node, other, "an array"};
    const auto after = open_image(applied(image, before->change({&change, 1})));
    CHECK(after->tree().value(node, 1).as_double() == other);
    CHECK(differing(before->tree(), after->tree()) == std::vector<NodeId>{node});
  }
  const NodeChange list{before->tree().root, 3.0, "the list"};
  CHECK_THROWS_WITH(before->change({&list, 1}), Catch::Contains("is no array"));
}

TEST_CASE("a header of 10,000 bytes, which is NumPy's own limit, is read, and no longer one") {
  const auto of_length = [](std::size_t length) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    header.resize(length, ' ');
    const auto low = static_cast<char>(length & 255);
    const auto high = static_cast<char>(length >> 8);
    return bytes_of(std::string("\x93NUMPY\x01\0"sv).append({low, high}).append(header).append("\0\0\x80\x3f"sv));
  };
  const auto container = open_image(of_length(10'000));
  CHECK(container->tree().value(container->tree().root, 8).type == "numpy:float32[1]");
  CHECK_THROWS_WITH(open_image(of_length(10'001)), Catch::Contains("its header says it is 10001 bytes long"));
}

TEST_CASE("joblib's arrays are hopped over, and values around them can be changed") {
  const Bytes image = corpus_bytes("numpy/joblib_dump/state.joblib");
  const auto container = open_image(image);
  CHECK(container->format() == "pickle");
  CHECK(number_at(*container, {"scaler", "scale"}) == 128);
  const Changed changed = change_value(image, {"scaler", "growth_interval"}, Integer{70000, {}});
  CHECK(number_at(*changed.container, {"scaler", "growth_interval"}) == 70000);
  Bytes cut(image.begin(), image.begin() + 300);
  CHECK_THROWS_WITH(open_image(cut), Catch::Contains("fewer bytes than its array has"));
}

TEST_CASE("a joblib file that holds an array of Python objects is not read, and not called damaged") {
  Bytes image = corpus_bytes("numpy/joblib_dump/state.joblib");
  constexpr std::array float32{std::byte{'f'}, std::byte{'4'}};
  const auto type = std::search(image.begin(), image.end(), float32.begin(), float32.end());
  REQUIRE(type != image.end());
  *type = std::byte{'O'};
  CHECK_THROWS_WITH(open_image(image), Catch::Contains("a joblib array of Python objects follows, which is not read"));
}

TEST_CASE("a jax array in a pickle is the numpy array inside") {
  const Bytes image = corpus_bytes("flax/jmp_pickle/state.pkl");
  CHECK(type_at(*open_image(image), {"loss_scale", "loss_scale"}) == "numpy:float32[]");
  const Changed changed = change_value(image, {"loss_scale", "counter"}, Integer{2, {}});
  CHECK(number_at(*changed.container, {"loss_scale", "counter"}) == 2);
}

TEST_CASE("archives of arrays made to break readers are refused, or opened with what is wrong") {
  for (const Answer& answer : answers) check_answer(answer);
}
