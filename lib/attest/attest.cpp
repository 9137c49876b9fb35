#include "lib/attest/attest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "lib/attest/account.hpp"
#include "lib/attest/array_type.hpp"
#include "lib/attest/broken_file.hpp"
#include "lib/attest/data_file.hpp"
#include "lib/attest/doubt_of_tree.hpp"
#include "lib/attest/elements.hpp"
#include "lib/attest/file_tree.hpp"
#include "lib/attest/named_in_text.hpp"
#include "lib/attest/nested_bytes.hpp"
#include "lib/attest/other_nature.hpp"
#include "lib/attest/text_document.hpp"
#include "lib/attest/whole_items.hpp"
#include "lib/base/distant_files.hpp"
#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/parallel.hpp"
#include "lib/checkpoint/directory.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/reading.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/container/compressed.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/pickle/read/opcode.hpp"
#include "lib/container/zip/layout.hpp"
#include "lib/container/zip/members.hpp"

namespace tare {
namespace {

/// Byte tensors without an extra state's key are data of all kinds: only small ones are looked into.
constexpr std::uint64_t small_tensor_bytes = std::uint64_t{1} << 16;

/// Formats of which all that a loader would run is read here: pickles, Keras's configurations; or that hold nothing but
/// data.
constexpr std::string_view judged_formats[] = {"torch_zip",   "torch_legacy", "torch_dcp",     "pickle",
                                               "safetensors", "mindspore",    "tensor_bundle", "paddle_lod_tensor",
                                               "msgpack",     "zarr",         "ocdbt",         "json",
                                               "npy",         "npy_stream",   "npz",           "hdf5",
                                               "keras",       "keras_config", "torch_tar"};

/// Whose texts frameworks take for names, and for documents.
constexpr std::string_view text_formats[] = {"json", "safetensors"};

/// What torch.load reads, and weights_only with it: not its tar archives.
constexpr std::string_view torch_formats[] = {"torch_zip", "torch_legacy"};

Bytes head_of(const Source& source) {
  constexpr std::uint64_t signature = 16;
  return source.read({0, std::min(source.size(), signature)});
}

/// An error begins with the name of its file, which stands beside it here.
std::string without_name(std::string why, const std::string& name) {
  return why.starts_with(name + ": ") ? why.substr(name.size() + 2) : why;
}

/// Whether bytes begin as a pickle with a protocol, or a zip, does.
bool looks_like_document(ByteView bytes) {
  const std::string_view text = as_text(bytes);
  if (zip::begins_with_member(bytes)) return true;
  return text.size() > 2 && text[0] == '\x80' && static_cast<unsigned char>(text[1]) <= 5;
}

/// Whether no loader of pickles comes to anything in these bytes: numbers are none, whatever key they stand under.
bool is_no_pickle(const Bytes& bytes) {
  return probe_pickle(MemorySource("a tensor", bytes)).end == ProbeEnd::fails;
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
  Attester(const Checkpoint& checkpoint, TorchRelease release, const Files& files)
      : checkpoint_(checkpoint), files_(files) {
    found_.release = release;
  }

  Attestation run(AttestScope scope) && {
    if (files_.type(checkpoint_.target) != FileType::folder) {
      if (checkpoint_.files.empty()) judge_named(std::string(file_name(checkpoint_.target)), checkpoint_.target);
      for (const std::size_t i : whole_files(checkpoint_)) {
        judge_named(checkpoint_.files[i].path, checkpoint_.files[i].location);
      }
    } else {
      require_list();
      const std::string inside = scope == AttestScope::everything ? "" : resolved_inside();
      inside.empty() ? judge_folder("") : judge_resolved(inside);
      require_list();  // folders in it were listed meanwhile
    }
    tell_of_checkpoint();
    std::ranges::sort(found_.globals, [](const AttestedGlobal& a, const AttestedGlobal& b) {
      return std::tie(b.verdict, a.module, a.name) < std::tie(a.verdict, b.module, b.name);
    });
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string root() const {
    std::string folder = checkpoint_.target;
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    return folder;
  }
  [[nodiscard]] std::string location(const std::string& path) const {
    return path.empty() ? root() : root() + "/" + path;
  }

  /// Where a run folder leads, from there; empty for the folder itself.
  [[nodiscard]] std::string resolved_inside() const {
    const std::string folder = root() + "/";
    return checkpoint_.resolved.starts_with(folder) ? checkpoint_.resolved.substr(folder.size()) : "";
  }

  /// What nobody lists may hold anything.
  void require_list() const {
    if (lists_all(files_, root())) return;
    throw Error(Status::refused,
                fmt::format("{}: the server does not list all of this folder, and what is not seen may be no data",
                            checkpoint_.target),
                "attest its files one by one, or a copy of the folder");
  }

  /// Of a run: the checkpoint that it leads to, and the files on the way there. Other folders are told.
  void judge_resolved(const std::string& inside) {
    for (std::size_t end = 0; end != std::string::npos;) {
      const std::string folder = inside.substr(0, end);
      end = inside.find('/', end + 1);
      const std::string next = inside.substr(0, end);
      const std::string prefix = folder.empty() ? "" : folder + "/";
      judge_files(prefix, files_in(files_, location(folder)));
      std::vector<FileEntry> entries = files_.list(location(folder));
      std::ranges::sort(entries, natural_less, &FileEntry::name);
      for (const auto& [name, type] : entries) {
        if (type != FileType::folder || prefix + name == next) continue;
        leave(place_of(prefix + name, 0), "is another folder of the run, of which nothing was read");
      }
    }
    if (files_.type(location(inside)) == FileType::folder) judge_folder(inside);
  }

  void judge_folder(const std::string& folder) {
    judge_files(folder.empty() ? "" : folder + "/", files_below(files_, location(folder)));
  }

  /// Files that stand for several come first: the others of them are nothing by themselves.
  void judge_files(const std::string& prefix, const FileTree& tree) {
    std::vector<std::string> paths;
    for (const std::string& path : tree.files) paths.push_back(prefix + path);
    folders_of_elements_.merge(folders_of_elements(paths));
    const auto depth = [](const std::string& path) { return std::ranges::count(path, '/'); };
    std::ranges::stable_sort(paths, {}, [&](const std::string& path) {
      return std::pair(format_of_whole(file_name(path)) == nullptr, depth(path));
    });
    for (std::size_t first = 0; first < paths.size(); first += most_at_once(files_)) {
      const std::span batch = std::span(paths).subspan(first);
      judge_batch(batch.first(std::min(batch.size(), most_at_once(files_))));
    }
    for (const NoFile& other : tree.others) {
      where_ = location(prefix + other.path);
      leave(place_of(prefix + other.path, 0), other.why);
    }
  }

  /// Opened at the same time, where each takes a round trip; judged one after the other.
  void judge_batch(std::span<const std::string> paths) {
    std::vector<std::shared_ptr<const Source>> opened(paths.size());
    const auto open = [&](std::size_t i) {
      try {
        opened[i] = files_.open(location(paths[i]));
      } catch (const Error&) {
        return;  // told where it is judged
      }
    };
    for_each_parallel(paths.size(), open, {}, most_at_once(files_));
    for (std::size_t i = 0; i < paths.size(); ++i) {
      next_ = std::move(opened[i]);
      judge_named(paths[i], location(paths[i]));
    }
  }

  void judge_named(const std::string& path, const std::string& where) {
    const std::size_t before = found_.files.size();
    left_in_file_ = 0;
    where_ = where;
    try {
      if (!judge_whole(path, where)) judge_single(path, where);
    } catch (const Error& error) {
      if (found_.files.size() == before) place_of(path, 0);
      leave({before, "", 0}, error.what());
    }
    if (left_in_file_ == 0) return;
    leave({before, "", 0}, fmt::format("{} strings of many bytes were left in the file", left_in_file_));
  }

  /// Whether it is a file that a checkpoint of several files is opened by.
  bool judge_whole(const std::string& path, const std::string& where) {
    const std::string name(file_name(path));
    const SeveralFiles* format = format_of_whole(name);
    if (format == nullptr || format->whole_stands_alone || is_owned(path) || is_overruled(*format, where)) return false;
    const auto folder = directory_of(files_, where, budget_);
    const std::string prefix = path.substr(0, path.size() - name.size());
    WholeItems opened;
    try {
      opened = open_whole_items(*format, folder, name);
    } catch (const Error& error) {
      if (error.status == Status::unsupported) return false;
      throw;
    }
    const auto source = folder->open(name);
    const AttestedPlace place = place_of(path, source->size());
    look_into(*opened.container, source, place, 0);
    auto& parts = opened.items.empty() ? elements_ : parts_;
    for (const std::string& part : opened.parts) parts.insert(prefix + part);
    if (format->owns_folders) owned_.insert(prefix);
    for (const WholeItem& item : opened.items) judge_item(item, place);
    for (const std::string& doubt : opened.doubts) leave(place, doubt);
    return true;
  }

  /// As torch loads: where there is one metadata file of all ranks, those of single ranks are files like others.
  [[nodiscard]] bool is_overruled(const SeveralFiles& format, const std::string& where) const {
    if (format.overruling.empty() || file_name(where) == format.overruling) return false;
    const std::string folder = where.substr(0, where.size() - file_name(where).size());
    return files_.type(folder + std::string(format.overruling)) == FileType::file;
  }

  void judge_item(const WholeItem& item, AttestedPlace place) {
    place.inside = item.key;
    try {
      const auto container = open_container(item.bytes);
      tell_account(item.bytes, *container, place);
      if (item.is_read) return;
      ++found_.documents;
      for (const GlobalName& global : container->globals()) add(global, place);
    } catch (const Error& error) {
      tell_errors(*item.bytes, place, [&] { tell_if(doubt_of_broken(item.bytes, error.what()), place); });
    }
  }

  [[nodiscard]] bool is_owned(const std::string& path) const { return lies_below(owned_, path); }
  /// Folders end with a slash; the whole is "".
  [[nodiscard]] static bool lies_below(const std::set<std::string>& folders, const std::string& path) {
    if (folders.contains("")) return true;
    for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
      if (folders.contains(path.substr(0, slash + 1))) return true;
    }
    return false;
  }
  /// Elements that another file speaks of: a part, or (in a folder that belongs to a database) what is called as such
  /// are, where they lie, and the lists of it.
  [[nodiscard]] bool is_elements(const std::string& path) const {
    if (elements_.contains(path)) return true;
    const std::string_view name = file_name(path);
    return is_owned(path) &&
           (format_of_whole(name) != nullptr || (is_named_as_elements(name) && lies_below(folders_of_elements_, path)));
  }

  void judge_single(const std::string& path, const std::string& where) {
    const auto source = next_ != nullptr ? std::exchange(next_, nullptr) : files_.open(where);
    source->count_in(budget_);
    const AttestedPlace place = place_of(path, source->size());
    if (parts_.contains(path)) return tell_if(other_nature(*source, parts_format), place);
    if (!is_code(path) && is_elements(path)) return tell_if(doubt_of_elements(source), place);
    judge(source, path, place, 0);
  }

  /// A file, or a member of an archive that is one by itself. What cannot be read may still be loaded, up to where
  /// that fails.
  void judge(const std::shared_ptr<const Source>& source, const std::string& path, const AttestedPlace& place,
             std::size_t level) {
    if (is_code(path)) return leave(place, "is code, which is not judged");
    if (level == limits::max_nested_depth) return leave(place, "documents nested too deeply");
    if (starts_like_compressed(head_of(*source))) return judge_compressed(source, path, place, level);
    std::unique_ptr<const Container> container;
    try {
      container = open_single_file(source);
    } catch (const Error& error) {
      if (source->budget()->is_spent() || error.status == Status::io) throw;
      return judge_unread(source, path, error, place, level);
    }
    tell_if(other_nature(*source, container->format()), place);
    look_into(*container, source, place, level);
  }

  void judge_unread(const std::shared_ptr<const Source>& source, const std::string& path, const Error& error,
                    const AttestedPlace& place, std::size_t level) {
    if (zip::begins_with_member(head_of(*source))) return judge_archive(source, error, place, level);
    const bool may_be_text = error.status == Status::unsupported || extension(path) != ".json";
    const bool is_beside = source->size() == 0 || error.status == Status::unsupported || is_text(*source);
    tell_if(
        may_be_text && is_beside ? doubt_of_file(source, path, error.what()) : doubt_of_broken(source, error.what()),
        place);
  }

  /// As joblib writes it, and whoever packs a file.
  void judge_compressed(const std::shared_ptr<const Source>& source, const std::string& path,
                        const AttestedPlace& place, std::size_t level) {
    tell_if(other_nature(*source, compressed_format), place);
    const auto [inside, problem] = unpack(source);
    if (!problem.empty()) leave(place, problem);
    judge(inside, path, place, level + 1);
  }

  /// A zip of no framework is as good as its members; in one of a framework that cannot be read, pickles are looked
  /// for.
  void judge_archive(const std::shared_ptr<const Source>& source, const Error& error, const AttestedPlace& place,
                     std::size_t level) {
    const bool is_known = error.status != Status::unsupported;
    if (is_known) leave(place, error.what());
    tell_if(other_nature(*source, zip_format), place);
    std::unique_ptr<const ZipArchive> archive;
    try {
      archive = std::make_unique<const ZipArchive>(source);
    } catch (const Error&) {
      return;  // which `error` tells
    }
    ++found_.documents;
    tell_errors(*source, place, [&] {
      for (const std::string& doubt : doubts_of_zip(*archive)) leave(place, doubt);
    });
    for (const ZipEntry& entry : archive->entries()) {
      const std::string name(entry.name);
      AttestedPlace inside = place;
      inside.inside += (place.inside.empty() ? "" : " > ") + name;
      tell_errors(*source, inside, [&] {
        const auto member = open_member(*archive, entry);
        if (is_known && !name.ends_with(".pkl")) return tell_if(other_nature(*member, elements_format), inside);
        judge(member, name, inside, level + 1);
      });
    }
  }

  /// What `look` throws is told, unless nothing more of `source` can be read.
  template <typename Look>
  void tell_errors(const Source& source, const AttestedPlace& place, const Look& look) {
    try {
      look();
    } catch (const Error& error) {
      if (source.budget()->is_spent()) throw;
      leave(place, error.what());
    }
  }

  /// What the opening of the checkpoint found, where this did not: ranks that cannot be read ...
  void tell_of_checkpoint() {
    std::set<std::string> told;
    for (const Unread& unread : found_.unread) told.insert(found_.files[unread.place.file].path);
    for (const Finding& finding : checkpoint_.findings) {
      if (finding.severity != Severity::error || finding.file.empty() || !told.insert(finding.file).second) continue;
      AttestedPlace place = place_named(finding.file);
      place.inside = finding.path;
      leave(place, finding.message);
    }
  }

  AttestedPlace place_of(const std::string& path, std::uint64_t size) {
    file_numbers_.try_emplace(path, found_.files.size());
    found_.files.push_back({path, size});
    found_.bytes += size;
    return {found_.files.size() - 1, "", 0};
  }
  AttestedPlace place_named(const std::string& path) {
    const auto known = file_numbers_.find(path);
    return known == file_numbers_.end() ? place_of(path, 0) : AttestedPlace{known->second, "", 0};
  }

  void leave(const AttestedPlace& place, const std::string& why) {
    Unread& unread = found_.unread.emplace_back();
    unread.place = place;
    unread.why = without_name(without_name(why, where_), found_.files[place.file].path);
  }
  /// What is told outlives the document that it is told of, and stands in the answer.
  void take_for(const AttestedPlace& place, std::uint64_t more) {
    constexpr std::uint64_t bytes_a_place = 128;
    budget_->take_memory(bytes_a_place + 2 * place.inside.size() + more);
  }
  void tell_if(const Doubt& doubt, const AttestedPlace& place) {
    if (!doubt.why.empty()) {
      constexpr std::uint64_t bytes_a_doubt = 640;
      take_for(place, bytes_a_doubt + 3 * doubt.why.size());
      leave(place, doubt.why);
    }
    found_.calls += doubt.calls;
    for (const GlobalName& global : doubt.globals) add(global, place);
  }

  void tell_account(const std::shared_ptr<const Source>& source, const Container& container,
                    const AttestedPlace& place) {
    const Account account = account_of(source, container);
    found_.calls += account.calls;
    if (place.inside.empty()) found_.files[place.file].is_beyond_weights_only |= account.is_beyond_weights_only;
    for (const std::string& doubt : account.doubts) leave(place, doubt);
    for (const GlobalName& global : account.globals) add(global, place);
  }

  void look_into(const Container& container, const std::shared_ptr<const Source>& source, const AttestedPlace& place,
                 std::size_t level) {
    ++found_.documents;
    const bool is_torch = std::ranges::find(torch_formats, container.format()) != std::end(torch_formats);
    if (level == 0 && is_torch) found_.files[place.file].is_torch = true;
    if (std::ranges::find(judged_formats, container.format()) == std::end(judged_formats)) {
      leave(place, fmt::format("what the loader of {} files would run is not judged", container.format()));
    }
    tell_account(source, container, place);
    for (const GlobalName& global : container.globals()) add(global, place);
    if (has_false_array_type(container.tree())) {
      leave(place, "holds a numpy.dtype with a state that NumPy never writes: bytes would be taken for addresses");
    }
    if (container.tree().root != nowhere) {
      each_nested_bytes(container.tree(),
                        [&](const NestedBytes& bytes) { look_at(container.tree(), bytes, place, level); });
    }
    for (const InnerDocument& inner : container.inner_documents()) look_at(inner, place, level);
    const bool is_text = std::ranges::find(text_formats, container.format()) != std::end(text_formats);
    tell_if(doubt_of_tree(container.tree(), is_text ? TreeOrigin::json : TreeOrigin::pickle), place);
    is_text ? look_at_texts(container.tree(), place, level)
            : each_json_text(container.tree(), look_into_texts(container.tree(), place, level));
  }

  void look_at_texts(const Tree& tree, const AttestedPlace& place, std::size_t level) {
    for (const GlobalName& name : names_for_keras(tree)) add(name, place);
    if (is_exported_program(tree)) leave(place, "is a program of torch.export, which is not judged");
    for (const std::string& path : files_outside(tree)) leave(place, "names a file outside its folder: " + path);
    each_text_document(tree, look_into_texts(tree, place, level));
  }

  std::function<void(NodeId, Bytes)> look_into_texts(const Tree& tree, const AttestedPlace& place, std::size_t level) {
    return [&, level](NodeId node, Bytes bytes) {
      AttestedPlace inside = place;
      inside.inside += (place.inside.empty() ? "" : " > ") + fmt::format("(text at {})", tree.span(node).offset);
      look_into_text(nested_source(tree, found_.files[place.file].path, std::move(bytes)), inside, level);
    };
  }

  /// A text that is no document after all is a text.
  void look_into_text(const std::shared_ptr<const Source>& source, const AttestedPlace& place, std::size_t level) {
    if (level == limits::max_nested_depth) return leave(place, "documents nested too deeply");
    std::unique_ptr<const Container> container;
    try {
      container = open_container(source);
    } catch (const Error& error) {
      if (source->budget()->is_spent()) throw;
      if (zip::begins_with_member(head_of(*source))) return judge_archive(source, error, place, level + 1);
      const Doubt doubt = doubt_of_broken(source, error.what());
      return doubt.globals.empty() && !doubt.has_unnamed ? void() : tell_if(doubt, place);
    }
    look_into(*container, source, place, level + 1);
  }

  void look_at(const InnerDocument& inner, AttestedPlace place, std::size_t level) {
    place.inside += (place.inside.empty() ? "" : " > ") + inner.inside;
    if (inner.container == nullptr) {
      return inner.source == nullptr ? leave(place, inner.problem)
                                     : tell_if(doubt_of_broken(inner.source, inner.problem), place);
    }
    const auto loaded = static_cast<std::ptrdiff_t>(found_.extra_states.size());
    look_into(*inner.container, inner.source, place, level + 1);
    if (inner.is_former) found_.extra_states.erase(found_.extra_states.begin() + loaded, found_.extra_states.end());
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
    constexpr std::uint64_t bytes_a_name = 1024;
    take_for(place, is_new ? bytes_a_name + 3 * (global.module.size() + global.name.size()) : 0);
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
    if (bytes.is_computed) return leave(place, "holds what loaders of extra state unpickle, computed on loading");
    try {
      const Bytes contents = contents_of(tree, bytes);
      tree.take_steps(contents.size());
      if (bytes.is_extra_state) {
        found_.extra_states.push_back({place, bytes.is_stream ? fate_of_stream() : fate_of_pickle(contents)});
      }
      if (contents.empty() || bytes.is_again || (bytes.is_other_tensor && is_no_pickle(contents))) return;
      if (!bytes.is_extra_state && !looks_like_document(contents)) return look_for_lines(tree, contents, place);
      if (level == limits::max_nested_depth) throw Error(Status::refused, "documents nested too deeply");
      look_into_nested(nested_source(tree, found_.files[outer.file].path, contents), place, level);
    } catch (const Error& error) {
      if (tree.budget() != nullptr && tree.budget()->is_spent()) throw;  // nothing more of the file can be read
      leave(place, error.what());
    }
  }

  /// Pickles of protocols 0 and 1 begin like anything: only what could be a module's name is one.
  void look_for_lines(const Tree& tree, const Bytes& contents, const AttestedPlace& place) {
    constexpr std::size_t shortest = 8;
    constexpr std::uint64_t steps_a_probe = 512;
    const auto names = [](std::byte byte) { return byte == std::byte{'\n'} || byte == std::byte{0x93}; };
    if (contents.size() < shortest || std::ranges::none_of(contents, names)) return;
    tree.take_steps(steps_a_probe);
    const MemorySource source("bytes", contents);
    tell_if(other_nature(source, text_format), place);
  }

  void look_into_nested(const std::shared_ptr<const Source>& source, const AttestedPlace& place, std::size_t level) {
    std::unique_ptr<const Container> container;
    try {
      container = open_container(source);
    } catch (const Error& error) {
      if (source->budget()->is_spent()) throw;
      if (zip::begins_with_member(head_of(*source))) return judge_archive(source, error, place, level + 1);
      return tell_if(doubt_of_broken(source, error.what()), place);
    }
    look_into(*container, source, place, level + 1);
  }

  /// Empty for what is not looked into.
  [[nodiscard]] static Bytes contents_of(const Tree& tree, const NestedBytes& bytes) {
    if (tree.kind(bytes.node) == Kind::bytes) {
      const ByteView text = as_bytes(tree.text(bytes.node));
      return {text.begin(), text.end()};
    }
    const Tensor tensor = tree.tensor(bytes.node);
    const std::uint64_t count = tensor.count();
    const std::uint64_t width = std::max<std::uint64_t>(tensor.type.size, 1);
    const std::uint64_t size = count > limits::max_nested_bytes ? count : count * width;
    if (size == 0 || (!bytes.is_extra_state && size > small_tensor_bytes)) return {};
    if (size > limits::max_nested_bytes)
      throw Error(Status::refused, fmt::format("{} bytes are more than are looked into", size));
    return tree.reader()->elements(bytes.node);
  }

  const Checkpoint& checkpoint_;
  const Files& files_;
  std::shared_ptr<const Source> next_;  ///< of the file that is judged next, where it is open
  std::shared_ptr<Budget> budget_ = Budget::of_files(checkpoint_.target);
  std::string where_;  ///< the file that is judged, as errors name it
  Attestation found_;
  std::set<std::string> parts_;                      ///< paths of files of which each item is judged
  std::set<std::string> elements_;                   ///< paths of files of elements
  std::set<std::string> folders_of_elements_;        ///< with a slash
  std::set<std::string> owned_;                      ///< folders of which all belongs to one database, with a slash
  std::map<std::string, std::size_t> file_numbers_;  ///< the first in found_.files of each path
  std::size_t left_in_file_ = 0;
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
};

}  // namespace

bool Attestation::is_plain() const {
  const auto is_allowed = [](const AttestedGlobal& global) { return global.verdict == Verdict::allowed; };
  return unread.empty() && std::ranges::all_of(globals, is_allowed);
}

Checkpoint unopened(const std::string& path, const Error& why, const Files& files) {
  const FileType type = files.type(path);
  if (why.status == Status::io || (type != FileType::file && type != FileType::folder)) throw Error(why);
  Checkpoint checkpoint;
  checkpoint.target = checkpoint.resolved = path;
  return checkpoint;
}

Attestation attest(const Checkpoint& checkpoint, TorchRelease release, AttestScope scope, const Files& files) {
  return Attester(checkpoint, release, files).run(scope);
}

}  // namespace tare
