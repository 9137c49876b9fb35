#include "lib/base/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace tare {

void prefer_huge_pages(void* buffer, std::size_t size) {
  constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<std::uintptr_t>(buffer) + huge_page - 1) / huge_page * huge_page;
  const auto end = (reinterpret_cast<std::uintptr_t>(buffer) + size) / huge_page * huge_page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace tare
