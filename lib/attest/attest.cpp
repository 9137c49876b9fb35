#include "lib/attest/attest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lib/attest/nested_bytes.hpp"
#include "lib/base/error.hpp"
#include "lib/checkpoint/reopened.hpp"
#include "lib/container/pickle_opcode.hpp"

namespace tare {
namespace {

/// Byte tensors without an extra state's key are data of all kinds: only small ones are looked into.
constexpr std::uint64_t small_tensor_bytes = std::uint64_t{1} << 16;
constexpr std::uint64_t most_nested_bytes = std::uint64_t{32} << 20;
constexpr std::size_t most_nested_levels = 8;

/// Formats that hold pickles, which are read here, or nothing but data. Others may hold code for a loader of their own
/// (Keras's layers, NumPy's object arrays).
constexpr std::string_view judged_formats[] = {"torch_zip",   "torch_legacy", "torch_dcp",     "pickle",
                                               "safetensors", "mindspore",    "tensor_bundle", "paddle_lod_tensor",
                                               "msgpack",     "zarr",         "ocdbt",         "json"};

/// Whether bytes begin as a pickle with a protocol, or a zip, does.
bool looks_like_document(ByteView bytes) {
  const std::string_view text = as_text(bytes);
  if (text.starts_with("PK\x03\x04")) return true;
  return text.size() > 2 && text[0] == '\x80' && text[1] >= 0 && text[1] <= 5;
}

/// Whether these are bytes that the reader of large pickles left in the file: their opcode has room for many, and none
/// are there. Python writes few or none with another one.
bool is_left_in_file(const Tree& tree, NodeId node) {
  if (tree.kind(node) != Kind::bytes || !tree.text(node).empty() || tree.span(node).offset >= tree.bytes().size()) {
    return false;
  }
  const auto code = static_cast<Opcode>(tree.bytes()[tree.span(node).offset]);
  return code == Opcode::binbytes || code == Opcode::binbytes8 || code == Opcode::bytearray8 ||
         code == Opcode::binstring;
}

class Attester {
 public:
  Attester(const Checkpoint& checkpoint, TorchRelease release) : checkpoint_(checkpoint) { found_.release = release; }

  Attestation run() && {
    const std::vector<bool> is_part = parts_of_others();
    for (std::size_t i = 0; i < checkpoint_.files.size(); ++i) {
      if (is_part[i]) continue;
      left_in_file_ = 0;
      look_into(Reopened(checkpoint_, i).container(), {i, "", 0}, 0);
      if (left_in_file_ == 0) continue;
      leave({i, "", 0}, fmt::format("{} strings of many bytes were left in the file", left_in_file_));
    }
    for (const Finding& finding : checkpoint_.findings) {
      if (finding.severity == Severity::error && !finding.file.empty()) {
        leave({file_named(finding.file), finding.path, 0}, finding.message);
      }
    }
    std::ranges::sort(found_.globals, [](const AttestedGlobal& a, const AttestedGlobal& b) {
      return std::tie(b.verdict, a.module, a.name) < std::tie(a.verdict, b.module, b.name);
    });
    return std::move(found_);
  }

 private:
  /// By file: whether another file's container spans it.
  [[nodiscard]] std::vector<bool> parts_of_others() const {
    std::vector<bool> is_part(checkpoint_.files.size());
    for (std::size_t i = 0; i < checkpoint_.files.size(); ++i) {
      for (const std::size_t part : checkpoint_.files[i].parts) is_part[part] = part != i;
    }
    return is_part;
  }

  [[nodiscard]] std::size_t file_named(const std::string& path) const {
    const auto found = std::ranges::find(checkpoint_.files, path, &CheckpointFile::path);
    return static_cast<std::size_t>(found - checkpoint_.files.begin());
  }

  /// Notes what could not be looked into.
  void leave(const AttestedPlace& place, const std::string& why) {
    Unread& unread = found_.unread.emplace_back();
    unread.place = place;
    unread.why = why;
  }

  void look_into(const Container& container, const AttestedPlace& place, std::size_t level) {
    ++found_.documents;
    if (std::ranges::find(judged_formats, container.format()) == std::end(judged_formats)) {
      leave(place, fmt::format("what the loader of {} files would run is not judged", container.format()));
    }
    for (const GlobalName& global : container.globals()) add(global, place);
    if (container.tree().root == nowhere) return;
    each_nested_bytes(container.tree(),
                      [&](const NestedBytes& bytes) { look_at(container.tree(), bytes, place, level); });
  }

  void add(const GlobalName& global, AttestedPlace place) {
    const auto [known, is_new] = numbers_.try_emplace({global.module, global.name}, found_.globals.size());
    if (is_new) {
      found_.globals.push_back({global.module,
                                global.name,
                                verdict_of(global.module, global.name, found_.release),
                                weights_only_since(global.module, global.name),
                                {}});
    }
    place.offset = global.offset;
    found_.globals[known->second].places.push_back(std::move(place));
  }

  void look_at(const Tree& tree, const NestedBytes& bytes, const AttestedPlace& outer, std::size_t level) {
    if (is_left_in_file(tree, bytes.node)) {
      ++left_in_file_;
      return;
    }
    AttestedPlace place = outer;
    place.inside += (outer.inside.empty() ? "" : " > ") + (bytes.path.empty() ? std::string("(bytes)") : bytes.path);
    try {
      const Bytes contents = contents_of(tree, bytes);
      if (bytes.is_extra_state) {
        found_.extra_states.push_back({place, bytes.is_stream ? fate_of_stream() : fate_of_pickle(contents)});
      }
      if (contents.empty() || bytes.is_again || (!bytes.is_extra_state && !looks_like_document(contents))) return;
      if (level == most_nested_levels) throw Error(Status::refused, "documents nested too deeply");
      const auto source = std::make_shared<MemorySource>(checkpoint_.files[outer.file].path, contents);
      look_into(*open_container(source), place, level + 1);
    } catch (const Error& error) {
      leave(place, error.what());
    }
  }

  /// Empty for what is not looked into.
  [[nodiscard]] static Bytes contents_of(const Tree& tree, const NestedBytes& bytes) {
    if (tree.kind(bytes.node) == Kind::bytes) {
      const ByteView text = as_bytes(tree.text(bytes.node));
      return {text.begin(), text.end()};
    }
    const std::uint64_t size = tree.tensor(bytes.node).count();
    if (size == 0 || (!bytes.is_extra_state && size > small_tensor_bytes)) return {};
    if (size > most_nested_bytes)
      throw Error(Status::refused, fmt::format("{} bytes are more than are looked into", size));
    return tree.reader()->elements(bytes.node);
  }

  const Checkpoint& checkpoint_;
  Attestation found_;
  std::size_t left_in_file_ = 0;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
};

}  // namespace

bool Attestation::is_plain() const {
  const auto is_allowed = [](const AttestedGlobal& global) { return global.verdict == Verdict::allowed; };
  return unread.empty() && std::ranges::all_of(globals, is_allowed);
}

Attestation attest(const Checkpoint& checkpoint, TorchRelease release) {
  return Attester(checkpoint, release).run();
}

std::vector<std::string> needed_safe_globals(const Attestation& attestation) {
  std::set<std::string> names;
  for (const AttestedGlobal& global : attestation.globals) {
    const bool is_outer = std::ranges::any_of(global.places, [](const AttestedPlace& p) { return p.inside.empty(); });
    const bool is_needed = global.verdict == Verdict::framework || global.verdict == Verdict::unknown;
    if (is_outer && is_needed) names.insert(global.module + "." + global.name);
  }
  return {names.begin(), names.end()};
}

}  // namespace tare
