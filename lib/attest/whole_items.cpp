#include "lib/attest/whole_items.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/attest/extra_state.hpp"
#include "lib/base/error.hpp"
#include "lib/checkpoint/distributed.hpp"
#include "lib/container/torch/dcp.hpp"
#include "lib/container/torch/dcp_tensor.hpp"

namespace tare {
namespace {

/// torch can store items as safetensors images, which are files by themselves.
bool stands_alone(const std::string& file) {
  return file.ends_with(".safetensors");
}

/// Objects, and the bytes of modules' extra states: tensors hold nothing that is loaded once more.
std::vector<bool> objects(const DcpMetadata& metadata) {
  std::vector<bool> chosen;
  for (const DcpItem& item : metadata.items) chosen.push_back(!item.is_tensor || is_extra_state_key(item.key));
  return chosen;
}

void tell_of_gaps(std::vector<Span> places, std::uint64_t size, const std::string& file,
                  std::vector<std::string>& doubts) {
  std::sort(places.begin(), places.end(), [](Span a, Span b) { return a.offset < b.offset; });
  std::uint64_t at = 0;
  std::uint64_t hidden = 0;
  for (const Span place : places) {
    hidden += place.offset - std::min(at, place.offset);
    at = std::max(at, place.end());
  }
  hidden += size - std::min(at, size);
  if (hidden > 0) doubts.push_back(fmt::format("{}: {} bytes are in no item", file, hidden));
}

/// Tensors that stand in one safetensors image all say where it begins; it reaches to the end of the file.
bool is_in_image(const DcpItem& item, const Source& file) {
  return item.is_tensor && has_safetensors_at(file, item.place.offset);
}

void add_items(const DcpMetadata& metadata, const SourceFolder& folder, WholeItems& whole) {
  const std::vector<bool> is_read = objects(metadata);
  std::vector<std::vector<std::size_t>> in_file(metadata.files.size());
  for (std::size_t i = 0; i < metadata.items.size(); ++i) in_file[metadata.items[i].file].push_back(i);
  for (std::size_t file = 0; file < metadata.files.size(); ++file) {
    const std::string& name = metadata.files[file];
    if (stands_alone(name)) continue;
    whole.parts.push_back(name);
    std::vector<Span> places;
    std::set<std::uint64_t> images;
    const auto source = folder.open(name);
    for (const std::size_t i : in_file[file]) {
      const DcpItem& item = metadata.items[i];
      const bool is_image = is_in_image(item, *source);
      if (is_image && !images.insert(item.place.offset).second) continue;
      const Span place = is_image ? Span{item.place.offset, source->size() - item.place.offset} : item.place;
      places.push_back(place);
      if (const std::string& transforms = metadata.transforms[item.transforms]; !transforms.empty()) {
        whole.doubts.push_back(fmt::format("{} went through {}, which is not undone", item.key, transforms));
        continue;
      }
      const std::string label = fmt::format("{} ({})", source->name(), item.key);
      whole.items.push_back({std::string(item.key), std::make_shared<WindowSource>(source, place, label), is_read[i]});
    }
    tell_of_gaps(std::move(places), source->size(), name, whole.doubts);
  }
}

}  // namespace

WholeItems open_whole_items(const SeveralFiles& format, const std::shared_ptr<const SourceFolder>& folder,
                            const std::string& name) {
  WholeItems whole;
  if (is_distributed_metadata(name)) {
    whole.container = open_torch_dcp(folder, name, objects);
    add_items(*read_dcp_metadata(*folder->open(name)), *folder, whole);
    return whole;
  }
  OpenedWhole opened = format.open(folder, name);
  whole.container = std::move(opened.container);
  if (format.parts_stand_alone) return whole;
  whole.parts = std::move(opened.all_files);
  const auto parts = whole.container->parts();
  if (!parts.empty()) whole.parts.insert(whole.parts.end(), parts.begin() + 1, parts.end());
  return whole;
}

}  // namespace tare
