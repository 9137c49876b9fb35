// Which bytes a change names: runs that differ, one run of another size, elements of an array.
#include "lib/container/file_change.hpp"

#include <algorithm>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/node_change.hpp"
#include "lib/container/plain_change.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

Bytes with(Bytes bytes, std::initializer_list<std::size_t> changed) {
  for (const std::size_t at : changed) bytes[at] ^= std::byte{1};
  return bytes;
}

using Spans = std::vector<std::pair<std::uint64_t, std::size_t>>;

Spans spans_of(const std::vector<Patch>& patches) {
  Spans spans;
  for (const Patch& patch : patches) {
    CHECK(patch.before.size() == patch.after.size());
    spans.emplace_back(patch.offset, patch.after.size());
  }
  return spans;
}

}  // namespace

TEST_CASE("bytes that differ are one patch where fewer than eight stand between them, wherever the blocks end") {
  for (const std::size_t at : {0U, 1U, 254U, 255U, 256U, 257U, 511U, 512U, 600U}) {
    INFO(at);
    const Bytes before(700, std::byte{4});
    const auto spans = [&](std::initializer_list<std::size_t> changed) {
      const Bytes after = with(before, changed);
      const std::vector<Patch> patches = differing_runs(before, after, 1000, "x");
      FileChange change;
      for (Patch patch : patches) {
        patch.offset -= 1000;
        change.patches.push_back(patch);
      }
      CHECK(applied(before, change) == after);
      CHECK(spans_of(differing_parts(before, after, 1000, "x")) == spans_of(patches));
      return spans_of(patches);
    };
    CHECK(spans({at}) == Spans{{1000 + at, 1}});
    CHECK(spans({at, at + 1}) == Spans{{1000 + at, 2}});
    CHECK(spans({at, at + 8}) == Spans{{1000 + at, 9}});
    CHECK(spans({at, at + 9}) == Spans{{1000 + at, 1}, {1009 + at, 1}});
    CHECK(spans({at, at + 8, at + 16, at + 30}) == Spans{{1000 + at, 17}, {1030 + at, 1}});
    CHECK(spans({at, 699}) == Spans{{1000 + at, 1}, {1699, 1}});
  }
  CHECK(differing_runs(Bytes(300), Bytes(300), 0, "x").empty());
  CHECK(differing_runs({}, {}, 0, "x").empty());
}

TEST_CASE("all of a long text stays in memory for a change only where most of it is in long runs that change") {
  constexpr std::size_t whole = 4096;
  const auto is_held = [](std::initializer_list<Span> runs) {
    const SharedBytes before{Bytes(whole)};
    Bytes changed(whole);
    for (const Span& run : runs)
      std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(run.offset), run.size, std::byte{1});
    const SharedBytes after{changed};
    bool is_any = false;
    for (const Patch& patch : differing_parts(before, after, 0, "x")) {
      const bool is_part = patch.after.data() == after.data() + patch.offset;
      CHECK(is_part == (patch.before.data() == before.data() + patch.offset));
      is_any |= is_part;
    }
    return is_any;
  };
  CHECK(is_held({{100, 2500}}));
  CHECK(is_held({{100, 1100}, {2000, 1100}, {3500, 8}}));
  CHECK_FALSE(is_held({{100, 1100}}));
  CHECK_FALSE(is_held({{100, 2048}}));
  CHECK_FALSE(is_held({{0, 300},
                       {400, 250},
                       {700, 250},
                       {1000, 250},
                       {1300, 250},
                       {1600, 250},
                       {1900, 250},
                       {2200, 250},
                       {2500, 250},
                       {2800, 250}}));
}

TEST_CASE("of two runs of bytes the part is named in which they differ, whichever is longer") {
  struct Case {
    const char *before, *after;
    std::uint64_t offset;
    const char *taken, *given;
  };
  const Case cases[] = {
      {"abcdef", "abXdef", 2, "c", "X"}, {"abcdef", "abdef", 2, "c", ""}, {"abdef", "abcdef", 2, "", "c"},
      {"abc", "abcd", 3, "", "d"},       {"abcd", "abc", 3, "d", ""},     {"abc", "Xabc", 0, "", "X"},
      {"aaa", "aaaa", 3, "", "a"},       {"aaaa", "aaa", 3, "a", ""},     {"", "ab", 0, "", "ab"},
      {"ab", "", 0, "ab", ""},           {"abc", "abc", 3, "", ""},       {"abXcd", "abYZcd", 2, "X", "YZ"},
      {"xab", "yab", 0, "x", "y"},       {"abab", "ab", 2, "ab", ""}};
  for (const auto& [before, after, offset, taken, given] : cases) {
    INFO(before << " becomes " << after);
    const Splice made = changed_run(100, as_bytes(before), as_bytes(after), "x");
    CHECK(made.offset == 100 + offset);
    CHECK(as_text(made.before) == taken);
    CHECK(as_text(made.after) == given);
    CHECK(made.meaning == "x");
  }
}

TEST_CASE(
    "runs of their own size are patched apart, and where one moves all between the first and the last is exchanged") {
  const Bytes file = bytes_of("0123456789abcdefghij");
  const MemorySource source("x", file);
  CHECK(change_runs(source, {}).patches.empty());
  const FileChange patched =
      change_runs(source, {{{15, 2}, bytes_of("FG"), "late"}, {{2, 2}, bytes_of("XY"), "early"}});
  CHECK(spans_of(patched.patches) == Spans{{2, 2}, {15, 2}});
  CHECK(patched.patches[0].meaning == "early");
  CHECK_FALSE(patched.splice);
  const FileChange moved = change_runs(
      source, {{{15, 2}, bytes_of("F"), "late"}, {{2, 2}, bytes_of("XYZ"), "early"}, {{9, 1}, bytes_of("N"), "early"}});
  REQUIRE(moved.splice);
  CHECK(moved.patches.empty());
  CHECK(moved.splice->offset == 2);
  CHECK(as_text(moved.splice->before) == "23456789abcdefg");
  CHECK(as_text(moved.splice->after) == "XYZ45678NabcdeF");
  CHECK(moved.splice->meaning == "early, late");

  const auto far = [](std::uint64_t between) {
    const MemorySource long_file("x", Bytes(limits::max_tensor_read_bytes + 10));
    return status_of([&] {
      (void)change_runs(long_file, {{{1, 1}, bytes_of("ab"), "a"}, {{between, 1}, bytes_of("c"), "b"}});
    });
  };
  CHECK(far(limits::max_tensor_read_bytes) == Status::ok);
  CHECK(far(limits::max_tensor_read_bytes + 1) == Status::refused);
}

TEST_CASE("elements are given up to the last that an array has, one by one or in steps") {
  Tensor tensor;
  tensor.type = element_type("float32");
  tensor.shape = {4, 5};
  tensor.strides = {5, 1};
  const auto status = [&](const NewElement& element) {
    return status_of([&] { (void)elements_of({0, NewElements{{3, 1.0}, element}, "x"}, tensor); });
  };
  CHECK(status({19, 1.0}) == Status::ok);
  CHECK(status({20, 1.0}) == Status::refused);
  CHECK(status({4, 1.0, 4, 5}) == Status::ok);
  CHECK(status({5, 1.0, 4, 5}) == Status::refused);
  CHECK(status({4, 1.0, 5, 5}) == Status::refused);
  CHECK(status({4, 1.0, 4, 6}) == Status::refused);
  CHECK(status({0, 1.0, 20, 1}) == Status::ok);
  CHECK(status({0, 1.0, 21, 1}) == Status::refused);
  CHECK(status({99, 1.0, 0, 1}) == Status::ok);
  const auto one = [&](NodeValue value) {
    return status_of([&] { (void)elements_of({0, std::move(value), "x"}, tensor); });
  };
  CHECK(one(1.0) == Status::refused);
  tensor.shape = {};
  tensor.strides = {};
  CHECK(elements_of({0, 2.5, "x"}, tensor).front().value == 2.5);
  CHECK(elements_of({0, true, "x"}, tensor).front().value == 1);
  CHECK(elements_of({0, Integer{7, {}}, "x"}, tensor).front().value == 7);
  CHECK(one(NewText{"a"}) == Status::refused);
  tensor.type = {};
  CHECK(one(1.0) == Status::refused);
}

TEST_CASE("what holds one number takes one, and says what else it cannot take") {
  const auto refusal = [](NodeValue value) {
    try {
      (void)number_of({0, std::move(value), "scale"});
    } catch (const Error& error) {
      CHECK(error.status == Status::refused);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(true).empty());
  CHECK(refusal(Integer{1, {}}).empty());
  CHECK(refusal(1.0).empty());
  CHECK(refusal(NewDocument{{1.0}}) == "scale: this format has no room for what is not there");
  CHECK(refusal(NewEntries{}) == "scale: this format has no room for what is not there");
  CHECK(refusal(NewText{"a"}) == "scale: the field holds one number");
  CHECK(refusal(NewElements{}) == "scale: the field holds one number");
  CHECK(as_double(true) == 1);
  CHECK(as_double(false) == 0);
  CHECK(as_double(Integer{-3, {}}) == -3);
  CHECK(as_double(0.25) == 0.25);
}

TEST_CASE("of many changes four are named, and the others counted") {
  std::vector<NodeChange> changes;
  const char* joined[] = {"", "a", "a, b", "a, b, c", "a, b, c, d", "a, b, c, d and 1 more", "a, b, c, d and 2 more"};
  for (const char* wanted : joined) {
    CHECK(joined_meaning(changes) == wanted);
    changes.push_back({0, 1.0, std::string(1, static_cast<char>('a' + changes.size()))});
  }
}
