// What a file may cost: in proportion to its size, all of it together.
#include "lib/base/budget.hpp"

#include <string>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/source.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

template <typename Take>
std::string refusal(const Take& take) {
  try {
    take();
  } catch (const Error& error) {
    CHECK(error.status == Status::refused);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a small file has the least of everything, to the last byte") {
  Budget budget("a.pt", 1);
  budget.take_memory(limits::tree_bytes.least);
  CHECK_FALSE(budget.is_spent());
  CHECK(refusal([&] { budget.take_memory(1); }) ==
        "a.pt: asks for more than 62914560 bytes of memory for the values in it: the limit for a file of 1 bytes");
}

TEST_CASE("what is left of a large file's share grows with the file, up to the most") {
  constexpr std::uint64_t more = std::uint64_t{1} << 20;
  Budget larger("b.pt", limits::small_file_bytes + more);
  larger.take_memory(limits::tree_bytes.least + (more >> 10) * limits::tree_bytes.a_kib);
  CHECK_FALSE(refusal([&] { larger.take_memory(1); }).empty());
  Budget largest("c.pt", std::uint64_t{1} << 50);
  largest.take_memory(limits::tree_bytes.most);
  CHECK_FALSE(refusal([&] { largest.take_memory(1); }).empty());
}

TEST_CASE("of a file that asked for too much of one thing nothing more is read") {
  Budget budget("a.pt", 1);
  CHECK_FALSE(refusal([&] { budget.take_unpacked(limits::unpacked_bytes.least + 1); }).empty());
  CHECK(budget.is_spent());
  CHECK_FALSE(refusal([&] { budget.take_memory(1); }).empty());
  CHECK_FALSE(refusal([&] { budget.take_document(1); }).empty());
  CHECK_FALSE(refusal([&] { budget.take_steps(1); }).empty());
}

TEST_CASE("what is inside a file costs that file") {
  const auto whole = std::make_shared<const MemorySource>("a.pt", Bytes(8));
  const WindowSource part(whole, {2, 4}, "a.pt (part)");
  const MemorySource unpacked("a.pt (unpacked)", Bytes(100), whole->budget());
  CHECK(part.budget() == whole->budget());
  CHECK(unpacked.budget() == whole->budget());
  CHECK(MemorySource("b.pt", Bytes(8)).budget() != whole->budget());
}
