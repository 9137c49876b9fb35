// Which format a file is in: by its bytes, never by its name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/compressed.hpp"
#include "lib/container/container.hpp"
#include "lib/container/hdf5/hdf5.hpp"
#include "lib/container/json/json.hpp"
#include "lib/container/keras/keras.hpp"
#include "lib/container/mindspore/mindspore.hpp"
#include "lib/container/msgpack/msgpack.hpp"
#include "lib/container/numpy/npy.hpp"
#include "lib/container/numpy/npz.hpp"
#include "lib/container/paddle/variables.hpp"
#include "lib/container/pickle/pickle_file.hpp"
#include "lib/container/pickle/read/legacy_stream.hpp"
#include "lib/container/safetensors/safetensors.hpp"
#include "lib/container/sniff.hpp"
#include "lib/container/tensorflow/leveldb_table.hpp"
#include "lib/container/torch/legacy.hpp"
#include "lib/container/torch/tar.hpp"
#include "lib/container/torch/zip.hpp"
#include "lib/container/zip/layout.hpp"

namespace tare {
namespace {

using SharedSource = std::shared_ptr<const Source>;
using Opened = std::unique_ptr<Container>;

constexpr const char* no_format_read = "not a checkpoint format that tare reads";

bool starts_like_zip(const Source&, ByteView head) {
  return zip::begins_with_member(head);
}

Opened open_zip(const SharedSource& source) {
  auto archive = std::make_unique<ZipArchive>(source);
  if (is_torch_zip(*archive)) return open_torch_zip(std::move(archive));
  if (is_keras(*archive)) return open_keras(std::move(archive));
  if (is_npz(*archive)) return open_npz(std::move(archive));
  throw Error(Status::unsupported,
              fmt::format("{}: zip archive without data.pkl: {}", archive->source().name(), no_format_read));
}

/// TensorFlow's checkpoints are several files and come another way, by their names.
Opened open_lone_table(const SharedSource& source) {
  throw Error(Status::unsupported,
              fmt::format("{}: is the index of a TensorFlow checkpoint, under another name", source->name()),
              "its name tells where the data is: call it <prefix>.index again, beside its .data files");
}

struct ReadFormat {
  bool (*matches)(const Source& source, ByteView head);
  Opened (*open)(const SharedSource& source);
};

/// The first that matches rules.
constexpr auto read_formats = std::to_array<ReadFormat>({
    {starts_like_zip, open_zip},
    {[](const Source&, ByteView head) { return starts_like_legacy_stream(head); }, open_torch_legacy},
    {[](const Source&, ByteView head) { return starts_like_pickle(head); }, open_pickle_file},
    {[](const Source&, ByteView head) { return starts_like_hdf5(head); }, open_hdf5},
    {[](const Source&, ByteView head) { return starts_like_tar(head); }, open_torch_tar},
    {[](const Source&, ByteView head) { return starts_like_npy(head); }, open_npy},
    {starts_like_safetensors, open_safetensors},
    {starts_like_mindspore, open_mindspore},
    {[](const Source&, ByteView head) { return starts_like_paddle_variable(head); }, open_paddle_variable},
    {[](const Source&, ByteView head) { return starts_like_msgpack(head); }, open_msgpack},
    {[](const Source& source, ByteView) { return ends_like_leveldb_table(source); }, open_lone_table},
    {is_old_pickle, open_pickle_file},
    {[](const Source&, ByteView head) { return starts_like_json(head); }, open_json},
    {[](const Source&, ByteView head) { return starts_like_compressed(head); }, open_compressed},
    // Last: it looks at many places, each of which may be asked of a server.
    {[](const Source& source, ByteView) { return has_hdf5_behind(source); }, open_hdf5},
});

}  // namespace

FileChange Container::change(std::span<const NodeChange>) const {
  throw Error(Status::internal, fmt::format("a {} is not changed as one file", format()));
}

std::unique_ptr<Container> open_container(const std::shared_ptr<const Source>& source) {
  const Bytes head = source->read({0, std::min(source->size(), sniffed_bytes)});
  for (const ReadFormat& format : read_formats) {
    if (format.matches(*source, head)) return format.open(source);
  }
  const Likeness likeness = likeness_of(head);
  throw Error(Status::unsupported, fmt::format("{}: looks like {}: {}", source->name(), likeness.what, no_format_read),
              likeness.hint);
}

}  // namespace tare
