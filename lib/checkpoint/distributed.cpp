#include "lib/checkpoint/distributed.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/source.hpp"
#include "lib/container/pickle.hpp"

namespace tare {

Finding tell_of_distributed(const std::string& directory) {
  const FileSource source(directory + "/.metadata");
  if (source.size() > limits::max_pickle_bytes) {
    throw Error(Status::refused, fmt::format("{}: {} bytes are too many", source.name(), source.size()));
  }
  const auto text = std::make_shared<const Bytes>(source.read({0, source.size()}));
  const Pickle pickle = read_pickle(text, source.name());
  const QualifiedName name = pickle.tree.qualified_name(pickle.tree.root);
  if (pickle.tree.kind(pickle.tree.root) != Kind::opaque || name.module != "torch.distributed.checkpoint.metadata" ||
      name.name != "Metadata") {
    throw Error(Status::corrupt, fmt::format("{}: holds no metadata of a torch distributed checkpoint", source.name()),
                "it would run something else when loaded: find out where it comes from");
  }
  return {
      Severity::note, "format-not-read",
      "a torch distributed checkpoint (torch_dcp): its .distcp files are not read yet, so scaler state may be in them",
      ".metadata", ""};
}

}  // namespace tare
