#include "lib/container/numpy/npz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/read_ahead.hpp"
#include "lib/container/element_patch.hpp"
#include "lib/container/nested_keys.hpp"
#include "lib/container/numpy/npy.hpp"
#include "lib/container/zip/hidden.hpp"
#include "lib/container/zip/members.hpp"

namespace tare {
namespace {

constexpr std::string_view ending = ".npy";
/// Compressed arrays up to this size are unpacked to be described; a scaler's are far smaller.
constexpr std::uint64_t most_unpacked = 64 << 10;

/// "scaler/scale.npy" -> "scaler.scale"
std::string key_of(std::string_view member) {
  std::string key(member.substr(0, member.size() - ending.size()));
  std::replace(key.begin(), key.end(), '/', '.');
  return key;
}

class Npz final : public Container {
 public:
  explicit Npz(std::unique_ptr<const ZipArchive> archive)
      : archive_(std::move(archive)), findings_(check_members(*archive_)) {
    NestedKeys values(tree_);
    std::deque<std::string> names;
    const auto view = std::make_shared<const ReadAhead>(archive_->shared_source());
    arrays_->reserve(archive_->entries().size());
    for (const ZipEntry& entry : archive_->entries()) {
      values.add(names.emplace_back(key_of(entry.name)), member(entry, view));
    }
    tree_.root = values.write();
    StoredTensors::install(arrays_, tree_);
  }

  [[nodiscard]] std::string_view format() const override { return "npz"; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::vector<InnerDocument> inner_documents() const override {
    std::vector<InnerDocument> all;
    for (const ZipEntry& entry : archive_->entries()) {
      if (auto document = inner_document(*archive_, entry)) all.push_back(std::move(*document));
    }
    for (const FormerMember& former : hidden_in_zip(*archive_).former) {
      auto document = inner_document(*former.archive, *former.entry);
      if (!document) continue;
      document->inside = former_name(*former.entry);
      document->is_former = true;
      all.push_back(std::move(*document));
    }
    return all;
  }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    ZipChange zip(*archive_);
    for (const NodeChange& change : changes) {
      const StoredTensor& stored = arrays_->at(change.node);
      const ZipEntry& entry = *members_[arrays_->index(change.node)];
      FileChange inner;
      inner.patches.push_back(element_patch(stored, change));
      if (entry.is_stored()) inner.patches.back().offset -= archive_->record(entry).payload.offset;
      change_member(zip, *archive_, entry, inner, change.meaning);
    }
    return std::move(zip).finish();
  }

 private:
  /// The array of a member; of a stored one in the archive itself, so that there is no source for each of a million.
  NpyHeader header_of(const ZipEntry& entry, const std::shared_ptr<const Source>& view) {
    if (!entry.is_stored()) return read_npy(open_member(*archive_, entry));
    const Span payload = archive_->record(entry, *view).payload;
    NpyHeader header = read_npy(std::make_shared<WindowSource>(view, payload, archive_->label(entry)));
    header.array.source = archive_->shared_source();
    header.array.place.offset += payload.offset;
    return header;
  }

  NodeId member(const ZipEntry& entry, const std::shared_ptr<const Source>& view) {
    if (!entry.is_stored() && entry.size > most_unpacked) return opaque();
    try {
      NpyHeader header = header_of(entry, view);
      if (!header.is_object) {
        members_.push_back(&entry);
        return arrays_->add(tree_, Kind::array, std::move(header.array));
      }
      tell(entry, "holds Python objects, which are a pickle: shown as opaque, never run");
    } catch (const Error& error) {
      if (error.status != Status::corrupt) throw;
      tell(entry, error.what());
    }
    return opaque();
  }

  /// What numpy unpickles of a member, where its caller allows pickles; nothing for plain arrays.
  [[nodiscard]] std::optional<InnerDocument> inner_document(const ZipArchive& archive, const ZipEntry& entry) const {
    const std::string name(entry.name);
    std::shared_ptr<const Source> source;
    const auto not_read = [&](std::string why) { return InnerDocument{name, source, nullptr, std::move(why)}; };
    if (!entry.is_stored() && entry.size > limits::max_nested_bytes) {
      return not_read(fmt::format("{} bytes are more than are unpacked", entry.size));
    }
    try {
      source = open_member(archive, entry);
      const NpyHeader header = read_npy(source);
      if (header.is_object) return InnerDocument{name, source, open_npy_objects(source, header), {}};
      if (!header.is_data) return not_read("its type may hold Python objects, which are a pickle: not read");
      if (header.array.place.end() == source->size()) return std::nullopt;
      return not_read(fmt::format("holds {} bytes behind its array", source->size() - header.array.place.end()));
    } catch (const Error& error) {
      if (archive.source().budget()->is_spent()) throw;
      return not_read(error.what());
    }
  }

  NodeId opaque() {
    Node node;
    node.kind = Kind::opaque;
    return tree_.add(node);
  }

  void tell(const ZipEntry& entry, std::string_view problem) {
    findings_.push_back({Severity::warning, "array-not-read", fmt::format("{}: {}", entry.name, problem), {}, {}});
  }

  std::unique_ptr<const ZipArchive> archive_;
  std::vector<Finding> findings_;
  Tree tree_{archive_->source().budget()};
  std::shared_ptr<StoredTensors> arrays_ = std::make_shared<StoredTensors>();
  std::vector<const ZipEntry*> members_;  ///< of the arrays, in their order
};

}  // namespace

bool is_npz(const ZipArchive& archive) {
  const auto& entries = archive.entries();
  return !entries.empty() && std::all_of(entries.begin(), entries.end(),
                                         [](const ZipEntry& entry) { return entry.name.ends_with(ending); });
}

std::unique_ptr<Container> open_npz(std::unique_ptr<const ZipArchive> archive) {
  return std::make_unique<Npz>(std::move(archive));
}

}  // namespace tare
