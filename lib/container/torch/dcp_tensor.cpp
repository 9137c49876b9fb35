#include "lib/container/torch/dcp_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/container/safetensors/safetensors.hpp"

namespace tare {

bool has_safetensors_at(const Source& file, std::uint64_t offset) {
  constexpr std::uint64_t length_size = 8;  // of the header's own size
  if (offset >= file.size()) return false;
  const std::uint64_t left = file.size() - offset;
  const Bytes head = file.read(Span{offset, std::min(left, length_size + 2)});
  return head.size() == length_size + 2 && load_le<std::uint64_t>(head.data()) <= left - length_size &&
         as_text(ByteView(head).subspan(length_size)) == "{\"";
}

std::unique_ptr<Container> open_image_tensor(const std::shared_ptr<const Source>& image,
                                             const SafetensorsHeader& header, std::string_view name) {
  const auto entry = std::find_if(header.entries.begin(), header.entries.end(),
                                  [&](const SafetensorsEntry& e) { return header.name(e) == name; });
  if (entry == header.entries.end()) {
    throw Error(Status::corrupt, fmt::format("{}: its image holds no tensor {}", image->name(), name),
                "the metadata and the file do not belong together");
  }
  return open_safetensors_tensor(image, header.of(*entry));
}

}  // namespace tare
