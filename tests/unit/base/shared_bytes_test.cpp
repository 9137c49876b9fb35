// Bytes that several hold: what they are, and that memory has them once.
#include "lib/base/shared_bytes.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <optional>

using namespace tare;

namespace {

Bytes counted(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

}  // namespace

TEST_CASE("a copy and a part of shared bytes are the very same bytes, and outlive what they came from") {
  for (const std::size_t size : {std::size_t{12}, std::size_t{5000}}) {
    std::optional<SharedBytes> whole = counted(size);
    const SharedBytes copy = *whole, part = whole->part(3, 9);
    CHECK(copy.data() == whole->data());
    CHECK(part.data() == whole->data() + 3);
    whole.reset();
    CHECK(copy == counted(size));
    CHECK(std::ranges::equal(part, ByteView(counted(size)).subspan(3, 9)));
  }
}

TEST_CASE("few shared bytes are in what holds them, and go along when that is copied, moved or is a part") {
  for (std::size_t size = 0; size <= 10; ++size) {
    std::optional<SharedBytes> whole = counted(size);
    SharedBytes copy = *whole;
    const SharedBytes part = SharedBytes(counted(5000)).part(7, size), start = whole->part(0, size / 2);
    whole.reset();
    const SharedBytes moved = std::move(copy);
    CHECK(moved == counted(size));
    CHECK(start == counted(size / 2));
    CHECK(std::ranges::equal(part, ByteView(counted(5000)).subspan(7, size)));
  }
}

TEST_CASE("shared bytes that take the place of others are what those were, whether few or many") {
  for (const std::size_t before : {std::size_t{0}, std::size_t{8}, std::size_t{9}, std::size_t{5000}}) {
    for (const std::size_t after : {std::size_t{0}, std::size_t{8}, std::size_t{9}, std::size_t{5000}}) {
      SharedBytes one = counted(before), other = counted(after);
      one = other;
      CHECK(one == counted(after));
      CHECK((one.data() == other.data()) == (after > 8));
      other = std::move(one);
      CHECK(other == counted(after));
      other = SharedBytes(counted(before));
      CHECK(other == counted(before));
    }
  }
}

TEST_CASE("shared bytes are equal by what they are, not by where") {
  const SharedBytes bytes = counted(600);
  CHECK(bytes == SharedBytes(counted(600)));
  CHECK_FALSE(bytes == SharedBytes(counted(599)));
  Bytes other = counted(600);
  other[599] ^= std::byte{1};
  CHECK_FALSE(bytes == other);
  CHECK(SharedBytes() == Bytes());
  CHECK(SharedBytes::copy_of(bytes).data() != bytes.data());
}

TEST_CASE("long runs that begin alike are held once, and stay what they are") {
  AlikeBytes alike;
  const SharedBytes zeros = alike.held(Bytes(8000)), fewer = alike.held(Bytes(5000)), more = alike.held(Bytes(9000));
  CHECK(fewer.data() == zeros.data());
  CHECK(fewer == Bytes(5000));
  CHECK(more == Bytes(9000));
  CHECK(alike.held(Bytes(8500)).data() == more.data());
  CHECK(alike.held(counted(5000)) == counted(5000));
  CHECK(alike.held(Bytes(4)) == Bytes(4));
}
