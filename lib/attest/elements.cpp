#include "lib/attest/elements.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "lib/attest/broken_file.hpp"
#include "lib/attest/other_nature.hpp"
#include "lib/base/byte_stream.hpp"
#include "lib/base/file_path.hpp"
#include "lib/container/numpy/npy.hpp"
#include "lib/container/unpacking_stream.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

/// What lies beside a description, and below it: an array's chunks; the nodes of an OCDBT database.
struct Description {
  std::string_view name;
  std::string_view folder;
};
constexpr auto descriptions =
    std::to_array<Description>({{".zarray", ""}, {"zarr.json", ""}, {"manifest.ocdbt", "d/"}});

Bytes head_of_elements(const Source& source) {
  constexpr std::uint64_t signature = 16;
  return source.read({0, std::min(source.size(), signature)});
}

/// Of elements that are not packed.
Doubt doubt_of_bare(const std::shared_ptr<const Source>& source) {
  const Bytes head = head_of_elements(*source);
  if (zip::begins_with_member(head)) return {"begins with a zip archive", {}, 0};
  if (starts_like_npy(head)) return doubt_of_broken(source, "is an array of NumPy, too");
  return other_nature(*source, elements_format);
}

/// What they begin with, in which a loader's first look ends.
Bytes unpacked_front(const std::shared_ptr<const Source>& packed, ByteView head) {
  constexpr std::size_t most = std::size_t{256} << 10;
  const auto stream = unpacking_stream(std::make_unique<SourceStream>(packed), head);
  Bytes front(most);
  std::size_t size = 0;
  while (size < most) {
    const std::size_t more = stream->read(std::span(front).subspan(size));
    if (more == 0) break;
    size += more;
  }
  front.resize(size);
  return front;
}

}  // namespace

bool is_named_as_elements(std::string_view file_name) {
  return file_name.find_first_not_of("0123456789abcdef._") == file_name.npos;
}

std::set<std::string> folders_of_elements(const std::vector<std::string>& paths) {
  std::set<std::string> folders;
  for (const std::string& path : paths) {
    const std::string_view name = file_name(path);
    const auto found = std::ranges::find(descriptions, name, &Description::name);
    if (found == descriptions.end()) continue;
    folders.insert(path.substr(0, path.size() - name.size()) + std::string(found->folder));
  }
  return folders;
}

Doubt doubt_of_elements(const std::shared_ptr<const Source>& source) {
  const Bytes head = head_of_elements(*source);
  Doubt doubt = doubt_of_bare(source);
  if (!doubt.why.empty() || !starts_like_packed_stream(head)) return doubt;
  doubt = doubt_of_bare(std::make_shared<MemorySource>(source->name(), unpacked_front(source, head), source->budget()));
  if (!doubt.why.empty()) doubt.why = "unpacked, it " + doubt.why;
  return doubt;
}

}  // namespace tare
