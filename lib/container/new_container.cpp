#include "lib/container/new_container.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "lib/base/error.hpp"
#include "lib/container/mindspore/new_mindspore.hpp"
#include "lib/container/msgpack/new_msgpack.hpp"
#include "lib/container/numpy/new_npz.hpp"
#include "lib/container/pickle/write/new_pickle.hpp"
#include "lib/container/zip/new_zip.hpp"

namespace tare {
namespace {

/// As torch.save: the file's stem is the folder of all records.
Bytes new_torch_zip(const Document& document, std::string_view stem) {
  constexpr std::size_t alignment = 64;
  constexpr std::string_view version = "3\n";
  TorchPickle pickle = new_torch_pickle(document);
  const auto member = [&](std::string_view name, ByteView contents) {
    return NewMember{fmt::format("{}/{}", stem, name), Bytes(contents.begin(), contents.end())};
  };
  std::vector<NewMember> members = {member("data.pkl", pickle.text), member("byteorder", as_bytes("little"))};
  for (std::size_t i = 0; i < pickle.storages.size(); ++i) {
    members.push_back(member(fmt::format("data/{}", i), pickle.storages[i]));
  }
  members.push_back(member("version", as_bytes(version)));
  return new_zip(members, alignment);
}

struct WrittenFormat {
  std::string_view name;
  Bytes (*write)(const Document& document, std::string_view stem);
};

constexpr auto written_formats = std::to_array<WrittenFormat>({
    {"torch_zip", new_torch_zip},
    {"pickle", [](const Document& document, std::string_view) { return new_numpy_pickle(document); }},
    {"msgpack", [](const Document& document, std::string_view) { return new_msgpack(document); }},
    {"npz", [](const Document& document, std::string_view) { return new_npz(document); }},
    {"mindspore", [](const Document& document, std::string_view) { return new_mindspore(document); }},
});

}  // namespace

Bytes new_container(std::string_view format, const Document& document, std::string_view stem) {
  for (const WrittenFormat& known : written_formats) {
    if (known.name == format) return known.write(document, stem);
  }
  throw Error(Status::unsupported, fmt::format("no {} file is written from nothing", format));
}

}  // namespace tare
