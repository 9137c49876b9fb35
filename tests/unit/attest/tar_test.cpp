// torch's old tar archives: every pickle of them, and every byte.
#include <cstdio>

#include "tests/unit/attest/told.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

constexpr std::size_t block = 512, sum_at = 148, type_at = 156;

std::string ancient() {
  return corpus("torch/tar-era/ancient.pt");
}

/// A member with a header whose checksum is right.
std::string member(const std::string& name, const std::string& data, char type = '0') {
  std::string header(block, '\0');
  header.replace(0, name.size(), name);
  char digits[13];
  std::snprintf(digits, sizeof digits, "%011zo", data.size());
  header.replace(124, 11, digits, 11);
  header[type_at] = type;
  header.replace(257, 8, "ustar\00000"s, 0, 8);
  header.replace(sum_at, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(digits, sizeof digits, "%06o", sum);
  header.replace(sum_at, 7, digits, 7);
  return header + data + std::string((block - data.size() % block) % block, '\0');
}

const std::string call = "cos\ngetcwd\n)R.";
const std::string no_storages = "\x80\2K\0.\x80\2]."s;
const std::string no_tensors = "\x80\2K\0."s;
const std::string object = "\x80\2}."s;

std::string archive(const std::string& storages, const std::string& tensors, const std::string& pickle) {
  return member("storages", storages) + member("tensors", tensors) + member("pickle", pickle) +
         std::string(2 * block, '\0');
}

}  // namespace

TEST_CASE("what torch before 0.2 wrote is plain data") {
  CHECK(told(ancient()) == "");
  CHECK(told(archive(no_storages, no_tensors, object)) == "");
}

TEST_CASE("a name in any of a tar's pickles is judged") {
  CHECK(says(told(archive(no_storages, no_tensors, "\x80\2}" + call)), "dangerous os.getcwd"));
  CHECK(says(told(archive("\x80\2K\0.\x80\2"s + call, no_tensors, object)), "dangerous os.getcwd"));
  CHECK(says(told(archive("\x80\2K\1.\x80\2"s + call, no_tensors, object)), "dangerous os.getcwd"));
  CHECK(says(told(archive(no_storages, "\x80\2K\1.\x80\2"s + call, object)), "dangerous os.getcwd"));
}

TEST_CASE("bytes of a tar that belong to no pickle and no storage are told") {
  CHECK(says(told(archive(no_storages + "x", no_tensors, object)), "behind its end"));
  CHECK(says(told(archive(no_storages, no_tensors + call, object)), "behind its end"));
  CHECK(told(archive(no_storages, no_tensors, object + call)) != "");
  CHECK(says(told(ancient() + "x"), "bytes stand behind its end"));

  std::string padded = ancient();
  padded[block + 100] = 'x';
  CHECK(says(told(padded), "bytes stand behind 'storages'"));
  const std::string huge = "\x80\2K\1.\x80\2K\7X\3\0\0\0cpuctorch\nFloatStorage\n\x87."s + "\xff\xff\xff\xff\0\0\0\0"s;
  CHECK(says(told(archive(huge, no_tensors, object)), "pass its end"));
}

TEST_CASE("members that torch did not write, and headers that tar readers differ on, are told") {
  const std::string whole = archive(no_storages, no_tensors, object);
  CHECK(says(told(member("more", call) + whole), "torch did not write"));
  CHECK(says(told(member("pickle", call) + whole), "torch did not write"));
  for (const char type : {'1', '2', 'x', 'L', '7'}) {
    INFO(type);
    CHECK(says(told(member("storages", no_storages, type) + whole.substr(2 * block)), "is no plain file"));
  }
  for (const std::size_t at : {sum_at + 1, std::size_t{160}, std::size_t{345}, std::size_t{505}}) {
    std::string other = ancient();
    other[at] = '7';
    INFO(at);
    CHECK(told(other) != "");
  }
}
