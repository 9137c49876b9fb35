// Datatype messages as h5py writes them, and such whose numbers only look like those of a framework.
#include "lib/hdf5/type.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace tare;
using namespace std::string_view_literals;

namespace {

constexpr std::string_view float32 = "\x11\x20\x1f\0\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0"sv;
constexpr std::string_view int32 = "\x10\x08\0\0\x04\0\0\0\0\0\x20\0"sv;

std::string name_of(std::string_view message) {
  const Hdf5Type type = read_hdf5_type(as_bytes(message));
  return type.form == Hdf5Type::Form::number ? std::string(type.element.name) : std::string(type.name);
}

/// One byte of the message is another.
std::string name_with(std::string_view message, std::size_t at, char byte) {
  std::string changed(message);
  changed[at] = byte;
  return name_of(changed);
}

}  // namespace

TEST_CASE("the numbers of frameworks are known, in both byte orders") {
  CHECK(name_of(float32) == "float32");
  CHECK(name_with(float32, 1, '\x21') == "float32");
  CHECK(name_of("\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\x03\0\0"sv) == "float64");
  CHECK(name_of("\x11\x20\x0f\0\x02\0\0\0\0\0\x10\0\x0a\x05\0\x0a\x0f\0\0\0"sv) == "float16");
  CHECK(name_of("\x11\x20\x0f\0\x02\0\0\0\0\0\x10\0\x07\x08\0\x07\x7f\0\0\0"sv) == "bfloat16");
  CHECK(name_of(int32) == "int32");
  CHECK(name_with(int32, 1, '\0') == "uint32");
  CHECK(name_of("\x10\x09\0\0\x08\0\0\0\0\0\x40\0"sv) == "int64");
}

TEST_CASE("a number whose bits stand elsewhere is not read, nor written, as another number") {
  CHECK(name_with(float32, 1, '\0') == "odd number");     // no bit is left out of the mantissa
  CHECK(name_with(float32, 1, '\x60') == "odd number");   // VAX' byte order
  CHECK(name_with(float32, 2, '\x1e') == "odd number");   // sign
  CHECK(name_with(float32, 8, '\x01') == "odd number");   // offset
  CHECK(name_with(float32, 10, '\x1f') == "odd number");  // precision
  CHECK(name_with(float32, 12, '\x16') == "odd number");  // exponent
  CHECK(name_with(float32, 13, '\x07') == "odd number");  // its bits
  CHECK(name_with(float32, 14, '\x01') == "odd number");  // mantissa
  CHECK(name_with(float32, 15, '\x16') == "odd number");  // its bits
  CHECK(name_with(float32, 16, '\x78') == "odd number");  // bias
  CHECK(name_with(int32, 8, '\x08') == "odd number");     // offset
  CHECK(name_with(int32, 10, '\x14') == "odd number");    // precision
}
