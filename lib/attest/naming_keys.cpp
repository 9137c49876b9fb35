#include "lib/attest/naming_keys.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "lib/attest/own_class.hpp"
#include "lib/base/holds.hpp"
#include "lib/container/pickle/globals/dangerous_global.hpp"

namespace tare {
namespace {

constexpr auto anywhere = std::to_array<NamingKey>({
    {"_class_path", Says::path},
    {"_component_", Says::path},
    {"_instantiator", Says::path},
    {"_target_", Says::target},
    {"auto_map", Says::path},
    {"loader_module", Says::module},
    {"py/function", Says::path},
    {"py/mod", Says::module_path},
    {"py/object", Says::path},
    {"py/repr", Says::evaluated},
    {"py/type", Says::path},
});
constexpr auto in_texts = std::to_array<NamingKey>({
    {"class_path", Says::path},
    {"cls", Says::path, "params"},
    {"target", Says::path, "params"},
});
constexpr auto in_pickled_values = std::to_array<NamingKey>({
    {"class_path", Says::likely_path},
    {"cls", Says::likely_class, "params"},
    {"target", Says::likely_class, "params"},
});
constexpr auto configurations = std::to_array<NamingKey>({{"target", Says::likely_path}});
constexpr auto hyperparameters = std::to_array<NamingKey>({{"target", Says::likely_class}});

/// Last parts of the names of files, hosts and parameters.
constexpr auto other_endings = std::to_array<std::string_view>(
    {"7z",      "ai",     "arrow",   "avi",     "bias",    "bin",     "bmp",         "bz2",     "cc",    "cfg",
     "ckpt",    "co",     "com",     "conf",    "cpp",     "csv",     "dat",         "data",    "db",    "de",
     "dev",     "distcp", "edu",     "engine",  "eqx",     "feather", "ggml",        "gguf",    "gif",   "gov",
     "gz",      "h5",     "hdf5",    "html",    "ico",     "in",      "index",       "ini",     "io",    "ipynb",
     "joblib",  "jpeg",   "jpg",     "json",    "jsonl",   "keras",   "lock",        "log",     "mat",   "md",
     "mlmodel", "model",  "mp3",     "mp4",     "msgpack", "nemo",    "net",         "npy",     "npz",   "onnx",
     "orbax",   "org",    "parquet", "pb",      "pd",      "pdf",     "pdiparams",   "pdmodel", "pdopt", "pdparams",
     "pickle",  "pkl",    "png",     "pt",      "pth",     "py",      "safetensors", "sh",      "so",    "spm",
     "sqlite",  "tar",    "tflite",  "tgz",     "tmp",     "toml",    "torchscript", "tsv",     "txt",   "uk",
     "vocab",   "wav",    "weight",  "weights", "xml",     "xz",      "yaml",        "yml",     "zip",   "zst"});

bool is_identifier(std::string_view part) {
  const bool begins = !part.empty() && !is_digit(part.front());
  return begins && std::ranges::all_of(part, is_word);
}

bool looks_like_path(std::string_view value) {
  const std::size_t last = value.rfind('.');
  if (last == value.npos || holds(other_endings, value.substr(last + 1))) return false;
  for (std::size_t dot = value.find('.'); dot != value.npos; dot = value.find('.')) {
    if (!is_identifier(value.substr(0, dot))) return false;
    value.remove_prefix(dot + 1);
  }
  return is_identifier(value);
}

bool is_likely(Says says) {
  return says == Says::likely_path || says == Says::likely_class;
}

/// The module is imported whether or not what is taken of it is there.
std::optional<GlobalName> of_module(std::string_view value, std::uint64_t offset) {
  const std::size_t slash = value.find('/');
  const std::string_view module = value.substr(0, slash);
  if (slash == value.npos || module.empty() || !std::ranges::all_of(module, is_in_path)) return std::nullopt;
  const std::string_view path = value.substr(slash + 1);
  const std::size_t dot = path.find('.');
  return GlobalName{std::string(module), dot == path.npos ? "(imported)" : std::string(path.substr(dot + 1)), offset};
}

}  // namespace

std::span<const NamingKey> naming_keys() {
  return anywhere;
}

std::span<const NamingKey> text_naming_keys() {
  return in_texts;
}

std::span<const NamingKey> pickle_naming_keys() {
  return in_pickled_values;
}

std::span<const NamingKey> lone_naming_keys() {
  return configurations;
}

std::span<const NamingKey> hyperparameter_naming_keys() {
  return hyperparameters;
}

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_' ||
         byte >= 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_in_path(char c) {
  return is_word(c) || c == '.' || c == '/' || c == '-' || c == ':';
}

std::optional<GlobalName> named(Says says, std::string_view value, std::uint64_t offset) {
  if (says == Says::evaluated) return GlobalName{"builtins", "eval", offset};
  if (says == Says::module_path) return of_module(value, offset);
  if (is_likely(says) && !looks_like_path(value)) return std::nullopt;
  if (value.find("${") != value.npos) return GlobalName{std::string(value), "(interpolated)", offset};
  if (says == Says::target && value.starts_with('$')) return GlobalName{"builtins", "eval", offset};
  if (says == Says::target && value.starts_with('@')) return GlobalName{std::string(value), "(referred to)", offset};
  if (value.empty() || !std::ranges::all_of(value, is_in_path)) return std::nullopt;
  if (says == Says::module) return GlobalName{std::string(value), "_load_pyfunc", offset};
  const std::size_t dot = value.rfind('.');
  if (says == Says::target && is_identifier(value) && value != "null") {
    return GlobalName{std::string(value), "(imported)", offset};
  }
  if (dot == value.npos || dot == 0 || dot + 1 == value.size() || is_digit(value[dot + 1])) return std::nullopt;
  GlobalName name{std::string(value.substr(0, dot)), std::string(value.substr(dot + 1)), offset};
  const bool is_taken =
      says != Says::likely_class || is_class_name(name.name) || is_dangerous_global(name.module, name.name);
  return is_taken ? std::optional(std::move(name)) : std::nullopt;
}

std::uint64_t memory_of(const GlobalName& name) {
  constexpr std::uint64_t bytes_a_name = 512;
  return bytes_a_name + 3 * (name.module.size() + name.name.size());
}

}  // namespace tare
