#include "lib/codec/state_file.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/naming.hpp"
#include "lib/base/source.hpp"
#include "lib/codec/new_file.hpp"
#include "lib/hdf5/superblock.hpp"
#include "lib/state/fp8_policy.hpp"

namespace tare {
namespace {

template <class Choice>
using Words = std::initializer_list<std::pair<std::string_view, Choice>>;

template <class Choice>
Choice chosen(const std::string& key, const StateValue& value, Words<Choice> words) {
  const auto* text = std::get_if<std::string>(&value);
  std::string allowed;
  for (const auto& [word, choice] : words) {
    if (text != nullptr && *text == word) return choice;
    allowed += (allowed.empty() ? "" : ", ") + std::string(word);
  }
  throw Error(Status::invalid_argument, "the options' \"" + key + "\" is none of: " + allowed);
}

[[noreturn]] void refuse_option(const std::string& path, const std::string& key, const char* format,
                                const char* otherwise) {
  throw Error(Status::invalid_argument, path + ": the options' \"" + key + "\" is for " + format + " alone",
              std::string("Leave it out, or ") + otherwise + ".");
}

bool begins_as_json(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '{';
}

void require_size(std::uint64_t size, const std::string& name) {
  if (size <= limits::max_state_bytes) return;
  throw Error(Status::corrupt, name + ": " + std::to_string(size) + " bytes are too many for a scaler's state");
}

std::shared_ptr<const Source> open_state(const std::string& path) {
  auto file = std::make_shared<FileSource>(path);
  require_size(file->size(), path);
  return file;
}

std::string require_json(const Source& file) {
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  if (begins_as_json(text)) return text;
  throw Error(Status::corrupt, file.name() + ": neither JSON nor HDF5", "For a checkpoint, use tare_checkpoint_state.");
}

LoadedStates states_in(const std::shared_ptr<const Source>& file) {
  return naming(file->name(), [&]() -> LoadedStates {
    if (has_hdf5_behind(*file)) return states_from_hdf5(file);
    return {states_from_json(require_json(*file), file->name())};
  });
}

[[noreturn]] void refuse_ending(const std::string& path) {
  throw Error(Status::invalid_argument, path + ": the ending tells no format", "Name it .json, .h5 or .hdf5.");
}

LoadedState state_in(const std::shared_ptr<const Source>& file) {
  return naming(file->name(), [&]() -> LoadedState {
    if (has_hdf5_behind(*file)) return state_from_hdf5(file);
    return {state_from_json(require_json(*file), file->name())};
  });
}

Compression compression_of(const std::string& path, const StateFileOptions& options) {
  if (options.shape) refuse_option(path, "shape", "JSON", "name the file .json");
  return options.compression.value_or(Compression::gzip);
}

}  // namespace

StateFileOptions parse_state_file_options(const char* text) {
  StateFileOptions options;
  if (text == nullptr || *text == '\0') return options;
  for (const auto& [key, value] : members_of_json(text, "the options")) {
    if (key == "shape") {
      options.shape = chosen<JsonShape>(key, value, {{"tare", JsonShape::tare}, {"lerobot", JsonShape::lerobot}});
    } else if (key == "compression") {
      options.compression = chosen<Compression>(
          key, value, {{"none", Compression::none}, {"gzip", Compression::gzip}, {"zstd", Compression::zstd}});
    } else {
      throw Error(Status::invalid_argument, "the options have no \"" + key + "\"", "Options: shape, compression");
    }
  }
  return options;
}

bool is_hdf5_name(std::string_view path) {
  return path.ends_with(".h5") || path.ends_with(".hdf5");
}

LoadedState read_state_file(const std::string& path) {
  return state_in(open_state(path));
}

LoadedState state_from_bytes(ByteView bytes, const std::string& name) {
  require_size(bytes.size(), name);
  return state_in(std::make_shared<MemorySource>(name, Bytes(bytes.begin(), bytes.end())));
}

LoadedState read_fp8_state_file(const std::string& path) {
  LoadedStates loaded = states_in(open_state(path));
  std::vector<NamedState>& states = loaded.states;
  if (states.size() == 1) return {std::move(states.front().state), std::move(loaded.findings)};
  std::erase_if(states, [](const NamedState& named) { return find_fp8_policy(named.state.policy) == nullptr; });
  if (states.size() == 1) return {std::move(states.front().state), std::move(loaded.findings)};
  throw Error(Status::refused,
              path + ": holds " + (states.empty() ? "no" : std::to_string(states.size())) + " FP8 states",
              "tare inspect CHECKPOINT --layer GLOB --save STATE.json saves that of layers that are alike");
}

std::vector<NamedState> read_states_file(const std::string& path) {
  return states_in(open_state(path)).states;
}

std::vector<NamedState> read_states_file(const std::shared_ptr<const Source>& file) {
  require_size(file->size(), file->name());
  return states_in(file).states;
}

void write_states_file(std::span<const NamedState> states, const std::string& path) {
  if (path.ends_with(".json")) return write_whole_file(path, as_bytes(states_to_json(states)));
  if (!is_hdf5_name(path)) refuse_ending(path);
  write_hdf5(states, compression_of(path, {}),
             [&](std::span<const ByteView> pieces) { write_whole_file(path, pieces); });
}

void write_state_files(std::span<const NamedState> states, const std::string& path) {
  if (states.size() == 1) return write_state_file(states.front().state, path, {});
  write_states_file(states, path);
}

Bytes state_file_bytes(const ScalerState& state, std::string_view name, const StateFileOptions& options) {
  const std::string path(name);
  if (name.ends_with(".json")) {
    if (options.compression) refuse_option(path, "compression", "HDF5", "name the file .h5 or .hdf5");
    const std::string text = state_to_json(state, options.shape.value_or(JsonShape::tare));
    const ByteView bytes = as_bytes(text);
    return {bytes.begin(), bytes.end()};
  }
  if (is_hdf5_name(name)) {
    return state_to_hdf5(state, compression_of(path, options));
  }
  refuse_ending(path);
}

void write_state_file(const ScalerState& state, const std::string& path, const StateFileOptions& options) {
  if (!is_hdf5_name(path)) return write_whole_file(path, state_file_bytes(state, path, options));
  write_hdf5(state, compression_of(path, options),
             [&](std::span<const ByteView> pieces) { write_whole_file(path, pieces); });
}

}  // namespace tare
