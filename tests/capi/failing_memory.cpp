#include "tests/capi/failing_memory.hpp"
#include "tests/catch.hpp"

#include <link.h>
#include <tare/tare.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string_view>

namespace tare::test {
namespace {

std::atomic<bool> counting{false};
std::atomic<long> left{0};
std::atomic<long> living{0};
Whose victim = Whose::everyones;

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};
Range ours[8];
std::size_t ours_count = 0;

int take_ours(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view name = info->dlpi_name;
  if (name.find("libtare") == std::string_view::npos && name.find("libstdc++") == std::string_view::npos) return 0;
  Range range{info->dlpi_addr, info->dlpi_addr};
  for (const auto* part = info->dlpi_phdr; part != info->dlpi_phdr + info->dlpi_phnum; ++part) {
    if (part->p_type == PT_LOAD) range.end = std::max(range.end, info->dlpi_addr + part->p_vaddr + part->p_memsz);
  }
  if (ours_count < std::size(ours)) ours[ours_count++] = range;
  return 0;
}

bool is_ours(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  return std::any_of(ours, ours + ours_count, [&](const Range& range) { return range.begin <= at && at < range.end; });
}

bool fails(const void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return false;
  if (victim == Whose::ours && !is_ours(caller)) return false;
  return left.fetch_sub(1) == 0;
}

void* counted(void* memory) {
  if (memory == nullptr) errno = ENOMEM;
  if (counting && memory != nullptr) ++living;
  return memory;
}

}  // namespace
}  // namespace tare::test

extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* memory, std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);
extern "C" void __libc_free(void* memory);

extern "C" void* malloc(std::size_t size) {
  using namespace tare::test;
  return counted(fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size));
}

extern "C" void* calloc(std::size_t count, std::size_t size) {
  using namespace tare::test;
  return counted(fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size));
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  using namespace tare::test;
  return counted(fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size));
}

/// What newer libraries of C++ make aligned memory by.
extern "C" [[gnu::visibility("default")]] int posix_memalign(void** into, std::size_t alignment, std::size_t size) {
  using namespace tare::test;
  void* const made = counted(fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size));
  if (made == nullptr) return ENOMEM;
  *into = made;
  return 0;
}

extern "C" void* realloc(void* memory, std::size_t size) {
  if (memory == nullptr) return malloc(size);
  return tare::test::fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(memory, size);
}

extern "C" void free(void* memory) {
  using namespace tare::test;
  if (counting && memory != nullptr) --living;
  __libc_free(memory);
}

namespace tare::test {
namespace {

/// Whether an allocation failed. Where it did, the call must have given status 3, or `otherwise`.
bool fails_at(long n, const Call& call, int32_t otherwise) {
  const Attempt done = attempt(n, call);
  REQUIRE(done.open == 0);
  if (done.failed && done.status != otherwise) REQUIRE(done.status == TARE_E_OUT_OF_MEMORY);
  return done.failed;
}

/// Each of the first allocations, and behind `most_in_turn` ever fewer of them.
void fail_each(const std::string& name, const Call& call, int32_t otherwise, long most_in_turn) {
  ours_count = 0;
  dl_iterate_phdr(take_ours, nullptr);
  long n = 0;
  for (bool failed = true; failed; n += n < most_in_turn ? 1 : n / 40) {
    INFO(name << ", allocation " << n);
    failed = fails_at(n, call, otherwise);
    const bool again = living != 0 && fails_at(n, call, otherwise);
    INFO((again ? "a second time" : ""));
    REQUIRE(living == 0);
  }
  std::cout << name << ": some " << n << " allocations\n";
}

long open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

}  // namespace

Attempt attempt(long n, const Call& call) {
  const long open_before = open_descriptors();
  left = n;
  living = 0;
  counting = true;
  const int32_t status = call();
  const bool failed = left < 0;
  counting = false;
  return {failed, status, living, open_descriptors() - open_before};
}

void fail_everywhere(const std::string& name, const Call& call, Whose whose) {
  INFO(name);
  REQUIRE(call() == TARE_OK);  // what is made once is made now
  victim = whose;
  fail_each(name, call, TARE_E_OUT_OF_MEMORY, std::numeric_limits<long>::max());
  victim = Whose::everyones;
}

void fail_everywhere_or_give(int32_t status, const std::string& name, const Call& call, long most_in_turn) {
  INFO(name);
  REQUIRE(call() == status);
  fail_each(name, call, status, most_in_turn);
}

}  // namespace tare::test
