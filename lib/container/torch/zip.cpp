#include "lib/container/torch/zip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/crc32.hpp"
#include "lib/base/distant_source.hpp"
#include "lib/base/error.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/kept_directory.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/read/tensor.hpp"
#include "lib/container/pickle/write/plain_file.hpp"
#include "lib/container/pickle/write/rewrite.hpp"
#include "lib/container/zip/change.hpp"
#include "lib/container/zip/hidden.hpp"
#include "lib/container/zip/members.hpp"

namespace tare {
namespace {

/// The folder of all entries with its slash: what stands before the first slash of the first entry.
std::string_view prefix_of(const ZipArchive& archive) {
  if (archive.entries().empty()) return {};
  const std::string_view first = archive.entries().front().name;
  const std::size_t slash = first.find('/');
  return slash == first.npos ? std::string_view() : first.substr(0, slash + 1);
}

constexpr const char* made_hint = "torch.save never writes such a file; find out who did before you load it";

class TorchRecords final : public StorageTable {
 public:
  explicit TorchRecords(std::shared_ptr<const ZipArchive> archive)
      : archive_(std::move(archive)), prefix_(prefix_of(*archive_)) {
    check_names();
    if (entry("constants.pkl") != nullptr) {
      refuse(Status::refused, "is a TorchScript archive (it holds constants.pkl), not a checkpoint of torch.save");
    }
  }

  /// What small records say of all others. They stand behind the pickle: whoever has read that has them as well.
  void read_settings() {
    read_byteorder();
    read_version();
  }

  [[nodiscard]] const ZipArchive& archive() const { return *archive_; }
  [[nodiscard]] const ZipEntry* entry(std::string_view name) const {
    return archive_->find(std::string(prefix_).append(name));
  }
  [[nodiscard]] Span find(std::string_view key, std::uint64_t size) const override;
  [[nodiscard]] std::endian order() const override { return order_; }
  [[nodiscard]] const Source& source() const override { return archive_->source(); }
  void read_ahead(std::span<const std::string> keys) const override;
  [[nodiscard]] std::string unused_key(std::string_view last) const override;
  /// Torch from 2.7 on computes where storages stand, from their order and sizes, if the format's version is 1 or more;
  /// otherwise it looks each one up. Source: torch/serialization.py, can_calculate_storage_offsets.
  void forget_order(ZipChange& change) const;
  /// The record's name for a storage of that key.
  [[nodiscard]] std::string storage_name(std::string_view key) const { return fmt::format("{}data/{}", prefix_, key); }

  std::vector<Finding> findings;

 private:
  [[noreturn]] void refuse(Status status, const std::string& problem,
                           const char* hint = "torch.load does not read this file either") const {
    throw Error(status, fmt::format("{}: {}", source().name(), problem), hint);
  }
  void warn(std::string_view code, std::string message) {
    findings.push_back({Severity::warning, std::string(code), std::move(message), {}, {}});
  }
  void check_names() const;
  void read_byteorder();
  void read_version();
  [[nodiscard]] std::optional<std::string> small_text(std::string_view name) const;

  std::shared_ptr<const ZipArchive> archive_;
  std::string_view prefix_;
  std::endian order_ = std::endian::little;
};

void TorchRecords::check_names() const {
  if (prefix_.size() < 2) refuse(Status::corrupt, "its entries lie in no folder");
  for (const ZipEntry& entry : archive_->entries()) {
    if (!entry.name.starts_with(prefix_)) {
      refuse(Status::refused, fmt::format("entry '{}' lies outside the folder '{}'", entry.name, prefix_));
    }
    if (const std::string_view problem = name_problem(entry.name); !problem.empty()) {
      refuse(Status::refused, fmt::format("the entry name '{}' {}", entry.name, problem), made_hint);
    }
  }
  if (const ZipEntry* twin = archive_->duplicate()) {
    refuse(Status::refused,
           fmt::format("entry '{}' is there twice (upper and lower case are one): readers differ in which they take",
                       twin->name),
           made_hint);
  }
}

std::optional<std::string> TorchRecords::small_text(std::string_view name) const {
  constexpr std::uint64_t limit = 64;
  const ZipEntry* found = entry(name);
  if (found == nullptr) return std::nullopt;
  std::string text(as_text(archive_->read(*found, limit)));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

void TorchRecords::read_byteorder() {
  const auto text = small_text("byteorder");
  if (!text || *text == "little") return;
  if (*text != "big") refuse(Status::refused, fmt::format("says byte order '{}'", *text));
  order_ = std::endian::big;
}

void TorchRecords::read_version() {
  auto text = small_text(".data/version");
  if (!text) text = small_text("version");
  const bool is_number =
      text && !text->empty() && text->size() < 4 && std::all_of(text->begin(), text->end(), is_digit);
  if (is_number) return;
  warn("record-version", text ? fmt::format("its version record says '{}', which is no number", *text)
                              : "it has no version record: torch.load refuses it");
}

Span TorchRecords::find(std::string_view key, std::uint64_t size) const {
  const ZipEntry* found = entry(fmt::format("data/{}", key));
  if (found == nullptr) {
    throw Error(Status::corrupt,
                fmt::format("{}: no record data/{} for a storage that its pickle names", source().name(), key),
                "the file is damaged; take another copy");
  }
  if (!found->is_stored()) {
    throw Error(Status::refused, fmt::format("{} is compressed", archive_->label(*found)),
                "load and save the checkpoint with torch first");
  }
  if (found->size < size) {
    throw Error(Status::corrupt,
                fmt::format("{} has {} bytes; its pickle says {}", archive_->label(*found), found->size, size),
                "the file is damaged; take another copy");
  }
  return archive_->record(*found).payload;
}

/// With their local headers, whose padding only they themselves tell: up to the next record.
void TorchRecords::read_ahead(std::span<const std::string> keys) const {
  constexpr std::uint64_t most_around = 1024;
  std::vector<Span> places;
  for (const std::string& key : keys) {
    const ZipEntry* found = entry(fmt::format("data/{}", key));
    if (found == nullptr || !found->is_stored()) continue;
    places.push_back({found->header, std::min(found->limit - found->header, found->stored_size + most_around)});
  }
  fetch_ahead(source(), std::move(places));
}

std::string TorchRecords::unused_key(std::string_view last) const {
  // Keys are numbers, given in the order in which tensors are pickled: one beyond all records is taken by none.
  std::uint64_t number = archive_->entries().size();
  if (!last.empty()) number = std::stoull(std::string(last)) + 1;
  while (archive_->find(storage_name(std::to_string(number))) != nullptr) ++number;
  return std::to_string(number);
}

void TorchRecords::forget_order(ZipChange& change) const {
  const ZipEntry* version = entry(".format_version");
  if (version == nullptr || !version->is_stored() || version->size != 1) return;
  change.patch(archive_->record(*version).payload, {std::byte{'0'}}, "records do not stand in the order of their keys");
}

class TorchZip final : public Container, public WithArchive {
 public:
  explicit TorchZip(std::shared_ptr<ZipArchive> archive)
      : archive_(std::move(archive)),
        records_(archive_),
        object_(require_object(records_)),
        text_(std::make_shared<const Bytes>(records_.archive().read(object_, limits::max_pickle_bytes))),
        true_crc_(crc32(*text_)),
        pickle_(read_pickle(text_, records_.archive().label(object_), 0, {}, records_.archive().source().budget())),
        tensors_(std::make_shared<PickleTensors>(pickle_.tree, &records_)) {
    records_.read_settings();
    pickle_.tree.install(tensors_);
    findings_ = records_.archive().findings();
    append(records_.findings);
    check_object();
    append(pickle_.findings);
  }

  [[nodiscard]] std::string_view format() const override { return "torch_zip"; }
  [[nodiscard]] const Tree& tree() const override { return pickle_.tree; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return pickle_.globals; }
  [[nodiscard]] std::vector<InnerDocument> inner_documents() const override;
  [[nodiscard]] bool can_add() const override { return true; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override;
  [[nodiscard]] std::shared_ptr<KeptArchive> archive() const override;

 private:
  static const ZipEntry& require_object(const TorchRecords& records) {
    const ZipEntry* found = records.entry("data.pkl");
    if (found != nullptr) return *found;
    throw Error(Status::corrupt, records.source().name() + ": zip archive without data.pkl");
  }

  void append(const std::vector<Finding>& more) { findings_.insert(findings_.end(), more.begin(), more.end()); }
  void warn(std::string_view code, std::string message) {
    findings_.push_back({Severity::warning, std::string(code), std::move(message), {}, {}});
  }
  /// CRC 0 where the data say otherwise: torch was told not to compute it, for this record alone.
  [[nodiscard]] bool is_crc_wrong() const { return object_.crc != true_crc_ && object_.crc != 0; }
  void check_object();

  std::shared_ptr<ZipArchive> archive_;
  TorchRecords records_;
  const ZipEntry& object_;
  std::shared_ptr<const Bytes> text_;
  std::uint32_t true_crc_;
  Pickle pickle_;
  std::shared_ptr<PickleTensors> tensors_;
  std::vector<Finding> findings_;
};

void TorchZip::check_object() {
  const ZipArchive& archive = records_.archive();
  if (is_crc_wrong()) {
    warn("crc-mismatch", fmt::format("{}: its CRC-32 is {:08x}, the directory says {:08x}: torch loads it, other "
                                     "readers do not",
                                     object_.name, true_crc_, object_.crc));
  }
  const ZipRecord local = archive.record(object_);
  if (local.local_crc != 0 && local.local_crc != object_.crc) {
    warn("crc-mismatch", fmt::format("{}: its local header says CRC-32 {:08x}, the directory {:08x}", object_.name,
                                     local.local_crc, object_.crc));
  }
  const bool has_local_size = !local.has_descriptor || local.local_stored_size != 0;
  constexpr std::uint32_t in_zip64 = 0xffffffff;
  if (has_local_size && local.local_stored_size != object_.stored_size && local.local_stored_size != in_zip64) {
    warn("size-mismatch", fmt::format("{}: its local header says {} bytes, the directory {}", object_.name,
                                      local.local_stored_size, object_.stored_size));
  }
  if (!object_.is_stored()) {
    warn("compressed-pickle",
         fmt::format("{} is compressed, as torch.save never writes it; an edit appends a plain copy", object_.name));
  }
  const ByteView behind = ByteView(*text_).subspan(pickle_.end);
  if (std::any_of(behind.begin(), behind.end(), [](std::byte b) { return b != std::byte{0}; })) {
    warn("trailing-data", fmt::format("{}: {} bytes stand behind the end of the pickle, which no loader reads",
                                      object_.name, behind.size()));
  }
}

class KeptTorchZip final : public KeptArchive {
 public:
  explicit KeptTorchZip(std::shared_ptr<ZipArchive> archive) : archive_(std::move(archive)) {}
  [[nodiscard]] std::unique_ptr<Container> open(std::shared_ptr<const Source> later) override {
    const auto archive = std::exchange(archive_, nullptr);  // for good, if it cannot follow
    if (archive == nullptr || !archive->follow(later)) return open_container(later);
    archive_ = archive;
    return std::make_unique<TorchZip>(archive);
  }

 private:
  std::shared_ptr<ZipArchive> archive_;
};

std::shared_ptr<KeptArchive> TorchZip::archive() const {
  return std::make_shared<KeptTorchZip>(archive_);
}

/// The object as it was before an edit, with the storages of then: a pickle, of which no more is read.
class FormerObject final : public Container {
 public:
  explicit FormerObject(std::shared_ptr<ZipArchive> archive) : then_(std::move(archive)) {}

  [[nodiscard]] std::string_view format() const override { return "pickle"; }
  [[nodiscard]] const Tree& tree() const override { return then_.tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return then_.findings(); }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return then_.globals(); }

 private:
  TorchZip then_;
};

std::vector<InnerDocument> TorchZip::inner_documents() const {
  std::vector<InnerDocument> all;
  for (const FormerMember& former : hidden_in_zip(records_.archive()).former) {
    if (former.entry->name != object_.name) continue;  // storages are numbers
    const std::string name = former_name(*former.entry);
    std::shared_ptr<const Source> source;
    try {
      source = open_member(*former.archive, *former.entry);
      all.push_back({name, source, std::make_shared<FormerObject>(former.archive), {}, true});
    } catch (const Error& error) {
      if (records_.source().budget()->is_spent()) throw;
      all.push_back({name, source, nullptr, error.what(), true});
    }
  }
  return all;
}

FileChange TorchZip::change(std::span<const NodeChange> changes) const {
  PickleRewrite rewrite =
      rewrite_pickle(pickle_, 0, *tensors_, without_nesting(tree(), changes, records_.source().name()));
  ZipChange change(records_.archive());
  for (ElementPatch& element : rewrite.elements) {
    change.patch(element.place, element.after, element.meaning);
    element.after = {};  // elements can be many: what the patches hold is not held twice
  }

  Bytes record = std::move(rewrite.pickle);
  record.insert(record.end(), text_->begin() + static_cast<std::ptrdiff_t>(pickle_.end), text_->end());
  const bool moves_storages = change.moves_patched_records() && !rewrite.elements.empty();
  if (rewrite.names_other_storages || moves_storages) records_.forget_order(change);
  const bool is_as_it_was = record.size() == text_->size() && common_start(record, *text_) == record.size();
  if (is_as_it_was) return std::move(change).finish();
  if (is_crc_wrong()) {
    throw Error(
        Status::corrupt,
        fmt::format("{}: its CRC-32 does not match: an edit would hide the damage", records_.archive().label(object_)),
        "load and save the checkpoint with torch first");
  }
  const std::string meaning = joined_meaning(changes);
  for (const NewStorage& storage : rewrite.storages) change.add(records_.storage_name(storage.key), storage.data);
  if (object_.is_stored() && record.size() == text_->size() && rewrite.storages.empty()) {
    change.rewrite(object_, *text_, record, meaning);
  } else {
    change.replace(object_, record, meaning);
  }
  return std::move(change).finish();
}

}  // namespace

bool is_torch_zip(const ZipArchive& archive) {
  const std::string_view prefix = prefix_of(archive);
  return !prefix.empty() && archive.find(std::string(prefix).append("data.pkl")) != nullptr;
}

std::unique_ptr<Container> open_torch_zip(std::unique_ptr<ZipArchive> archive) {
  return std::make_unique<TorchZip>(std::move(archive));
}

}  // namespace tare
