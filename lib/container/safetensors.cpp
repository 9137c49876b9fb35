#include "lib/container/safetensors.hpp"

#include "lib/container/recognised.hpp"

namespace tare {

bool starts_like_safetensors(const Source& source, ByteView head) {
  constexpr std::uint64_t length_size = 8;
  constexpr std::uint64_t max_header = 100'000'000;  // as the format's own reader has it
  if (head.size() < length_size + 2) return false;
  const auto length = load_le<std::uint64_t>(head.data());
  const std::string_view json = as_text(head.subspan(length_size, 2));
  return length <= max_header && length <= source.size() - length_size && (json == "{\"" || json == "{}");
}

std::unique_ptr<Container> open_safetensors(const std::shared_ptr<const Source>&) {
  return recognised("safetensors", "safetensors");
}

}  // namespace tare
