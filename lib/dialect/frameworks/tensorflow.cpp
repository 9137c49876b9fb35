// TensorFlow: a file beside a run's tensor bundles says which was saved last, in protobuf's text format. Source:
// tensorflow/python/checkpoint/checkpoint_management.py, latest_checkpoint.
#include <array>

#include "lib/base/file_path.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"

namespace tare {
namespace {

/// Its first line, model_checkpoint_path: "ckpt-7". Absolute paths are those that it was saved under.
std::optional<std::string> bundle_index(std::string_view text) {
  const std::size_t begin = text.find('"') + 1;
  const std::size_t end = text.find('"', begin);
  if (begin == 0 || end == text.npos) return std::nullopt;
  const std::string_view path = text.substr(begin, end - begin);
  const bool is_absolute = path.starts_with('/') || path.find("://") != path.npos;
  return std::string(is_absolute ? file_name(path) : path) + ".index";
}

constexpr auto tensorflow_pointers = std::to_array<RunPointer>({
    {"checkpoint", bundle_index, "model_checkpoint_path:"},
});

}  // namespace

constinit const Trainer tensorflow_trainer = {
    .name = "TensorFlow",
    .pointers = tensorflow_pointers,
};

}  // namespace tare
