// What a file may cost: in proportion to its size, all of it together.
#include "lib/base/budget.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

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
        "a.pt: asks for more than 54525952 bytes of memory for the values in it: the limit for a file of 1 bytes");
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

TEST_CASE("files that are read together have the share of one file of their size together") {
  const auto folder = Budget::of_files("run");
  const auto first = std::make_unique<Budget>("run/a.pt", 1, folder);
  Budget second("run/b.pt", 1, folder);
  folder->grow(2);
  first->take_unpacked(limits::unpacked_bytes.least);
  CHECK(refusal([&] { second.take_unpacked(1); }) ==
        "run: asks for more than 50331648 bytes that its compressed parts unpack to: the limit for files of 2 bytes");
  CHECK(second.is_spent());
  CHECK(first->is_spent());
}

TEST_CASE("memory is there again for other files when a file is closed, but what is kept of it") {
  constexpr std::uint64_t kept = 1000;
  const auto folder = Budget::of_files("run");
  for (std::uint64_t file = 0; file < 3; ++file) {
    Budget budget("run/a.pt", 1, folder);
    budget.keep_memory(kept);
    budget.take_memory(limits::tree_bytes.least - (file + 1) * kept);
  }
  Budget last("run/b.pt", 1, folder);
  CHECK_FALSE(refusal([&] { last.take_memory(limits::tree_bytes.least - 3 * kept + 1); }).empty());
}

TEST_CASE("steps, documents and unpacked bytes are gone for all files of a folder, to the last one") {
  const auto folder = Budget::of_files("run");
  for (std::uint64_t file = 0; file < 4; ++file) Budget("run/a.pt", 1, folder).take_steps(limits::steps.least / 4);
  Budget last("run/b.pt", 1, folder);
  CHECK_FALSE(refusal([&] { last.take_steps(1); }).empty());
}

TEST_CASE("a folder of many large files has no most") {
  const auto folder = Budget::of_files("run");
  std::vector<std::unique_ptr<Budget>> files;
  for (int i = 0; i < 3; ++i) {
    folder->grow(std::uint64_t{1} << 50);
    files.push_back(std::make_unique<Budget>("run/a.pt", std::uint64_t{1} << 50, folder));
    files.back()->take_memory(limits::tree_bytes.most);
  }
  CHECK_FALSE(folder->is_spent());
}

TEST_CASE("threads that read files of one folder take what it has and no more") {
  constexpr std::uint64_t threads = 4;
  const auto folder = Budget::of_files("run");
  std::atomic<std::uint64_t> taken = 0;
  std::vector<std::thread> running;
  for (std::uint64_t i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      constexpr std::uint64_t portion = 4096;
      for (;;) {
        Budget file("run/a.pt", 1, folder);
        try {
          file.take_unpacked(portion);
        } catch (const Error&) {
          return;
        }
        taken += portion;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  CHECK(taken <= limits::unpacked_bytes.least);
  CHECK(taken + (std::uint64_t{1} << 20) >= limits::unpacked_bytes.least);
}

TEST_CASE("what a source costs counts in the first whole that it is told of") {
  const auto folder = Budget::of_files("run");
  const auto other = Budget::of_files("other");
  const MemorySource source("run/a.pt", Bytes(8));
  source.count_in(folder);
  source.count_in(other);
  source.budget()->take_unpacked(limits::unpacked_bytes.least);
  Budget next("run/b.pt", 1, folder);
  CHECK_FALSE(refusal([&] { next.take_unpacked(1); }).empty());
  CHECK_FALSE(other->is_spent());
}
