#include "tools/tell_copied.hpp"

#include <fmt/format.h>

tare::OnCopied shown_while_copying(const Terminal& terminal) {
  return [&terminal](std::uint64_t done, std::uint64_t size) {
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
    terminal.progress(fmt::format("{} of {} MiB written anew", done / mebibyte, size / mebibyte));
  };
}
