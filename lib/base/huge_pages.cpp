#include "lib/base/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace tare {

void prefer_huge_pages(void* buffer, std::size_t size) {
  constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;
  const std::uintptr_t before_first_page = -reinterpret_cast<std::uintptr_t>(buffer) % huge_page;
  if (size < before_first_page + huge_page) return;
  const std::size_t pages = (size - before_first_page) / huge_page;
  ::madvise(static_cast<char*>(buffer) + before_first_page, pages * huge_page, MADV_HUGEPAGE);
}

}  // namespace tare
