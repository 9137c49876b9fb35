#include "lib/container/pickle/read/elided_text.hpp"

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"
#include "tests/unit/container/sparse_image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

constexpr std::uint32_t large = 3 << 20;

void add(SparseImage& image, std::string_view text) {
  image.append(bytes_of(text));
}

/// BINBYTES with a hole as its argument.
void add_large(SparseImage& image, std::uint32_t size = large) {
  Bytes head = bytes_of("B");
  append_le(head, size);
  image.append(head);
  image.append_hole(size);
}

/// {"a": 1.0, "x": bytes, "b": 2, "y": bytes, "c": 3} of protocol 3; between the large ones nothing is memoised.
std::shared_ptr<SparseImage> mapped() {
  auto image = std::make_shared<SparseImage>();
  add(*image, "\x80\x03}q\0(X\1\0\0\0aq\1G\x3f\xf0\0\0\0\0\0\0X\1\0\0\0xq\2"sv);
  add_large(*image);
  add(*image, "X\1\0\0\0bK\2X\1\0\0\0y"sv);
  add_large(*image);
  add(*image, "q\6X\1\0\0\0cq\7K\3u."sv);
  return image;
}

double number_at(const Container& container, std::string_view key) {
  return container.tree().value(node_at(container.tree(), {key}), 1).as_double();
}

NodeChange to(const Container& container, std::string_view key, NodeValue value) {
  return {node_at(container.tree(), {key}), std::move(value), "a new value"};
}

std::string problem_of(const std::shared_ptr<const Source>& source) {
  try {
    static_cast<void>(ElidedText(*source));
  } catch (const Error& error) {
    CHECK(error.status == Status::corrupt);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("large arrays in a pickle are neither read nor in the way of what stands behind them") {
  const auto image = mapped();
  const auto container = open_container(image);
  CHECK(number_at(*container, "a") == 1.0);
  CHECK(number_at(*container, "b") == 2.0);
  CHECK(number_at(*container, "c") == 3.0);
  CHECK(container->findings().empty());
  CHECK(image->bytes_read < 8 * 4096);
}

// Only AddressSanitizer sees it go wrong.
TEST_CASE("a large array may begin at any byte of what is read at once") {
  for (std::uint32_t size = 4060; size < 4100; ++size) {
    const auto image = std::make_shared<SparseImage>();
    add(*image, "\x80\x03}(X\1\0\0\0fX"sv);
    Bytes filler;
    append_le(filler, size);
    filler.resize(filler.size() + size, std::byte{'f'});
    image->append(filler);
    add(*image, "X\1\0\0\0x"sv);
    add_large(*image);
    add(*image, "X\1\0\0\0cK\3u."sv);
    INFO(size);
    CHECK(number_at(*open_container(image), "c") == 3.0);
  }
}

TEST_CASE("an edit behind large arrays is made where the value stands in the file") {
  for (const std::string_view key : {"a"sv, "b"sv, "c"sv}) {
    const auto image = mapped();
    const auto container = open_container(image);
    const NodeChange change = key == "a" ? to(*container, key, 8.0) : to(*container, key, Integer{200, {}});
    image->apply(container->change({&change, 1}));
    const auto after = open_container(image);
    for (const std::string_view other : {"a"sv, "b"sv, "c"sv}) {
      const double before = number_at(*container, other);
      CHECK(number_at(*after, other) == (other == key ? (key == "a" ? 8.0 : 200.0) : before));
    }
  }
}

TEST_CASE("values that change with large arrays between them, or by moving those, are refused") {
  const auto container = open_container(mapped());
  const std::vector<NodeChange> both = {to(*container, "b", Integer{5, {}}), to(*container, "c", Integer{6, {}})};
  CHECK_THROWS_AS(container->change(both), Error);
}

TEST_CASE("a value that needs more bytes moves what stands behind it, large arrays and all") {
  const auto container = open_container(mapped());
  const NodeChange change = to(*container, "b", Integer{70'000'000'000, {}});
  const FileChange planned = container->change({&change, 1});
  REQUIRE(planned.splice);
  CHECK(planned.splice->offset > large);
  CHECK(planned.splice->offset < 2 * large);
  CHECK(planned.splice->before.size() < 64);
}

TEST_CASE("arguments inside a frame are read, as the frame's length counts them") {
  auto image = std::make_shared<SparseImage>();
  Bytes frame = bytes_of("\x80\x04\x95"sv);
  append_le(frame, std::uint64_t{1 + 5 + large + 1 + 1});
  image->append(frame);
  add(*image, "]");
  add_large(*image);
  add(*image, "a.");
  const ElidedText elided(*image);
  CHECK(elided.text()->size() == image->size());
}

TEST_CASE("a large pickle that is damaged is refused with the place in the file") {
  const auto damaged = [](std::string_view behind) {
    auto image = std::make_shared<SparseImage>();
    add(*image, "\x80\x03]("sv);
    add_large(*image);
    add(*image, behind);
    return problem_of(image);
  };
  const std::string place = std::to_string(4 + 5 + large);
  CHECK_THAT(damaged("\xff"sv), Catch::Contains("offset " + place + ": byte 0xff is no opcode"));
  CHECK_THAT(damaged(""sv), Catch::Contains("offset " + place + ": ends before STOP"));
  CHECK_THAT(damaged("B\xff\xff"sv), Catch::Contains("the length of an argument passes the end"));
  CHECK_THAT(damaged("B\xff\xff\xff\x7f"sv), Catch::Contains("bytes passes the end"));
  CHECK_THAT(damaged("B\0\0\3\0 and no more"sv), Catch::Contains("bytes passes the end"));
  CHECK_THAT(damaged("cno newline"sv), Catch::Contains("a line that never ends"));
  CHECK(damaged("cbuiltins\nlist\ne."sv).empty());
}
