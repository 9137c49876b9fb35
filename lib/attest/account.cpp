#include "lib/attest/account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "lib/base/holds.hpp"
#include "lib/container/numpy/npy.hpp"
#include "lib/container/pickle/read/probe.hpp"
#include "lib/container/torch/tar.hpp"
#include "lib/container/zip/hidden.hpp"
#include "lib/container/zip/members.hpp"

namespace tare {
namespace {

/// Findings that say that not all bytes are what they seem, or not to every reader.
constexpr auto doubtful = std::to_array<std::string_view>(
    {"trailing-bytes", "trailing-data", "duplicate-entry", "crc-mismatch", "size-mismatch", "unsafe-name",
     "array-not-read", "item-not-read", "config-not-read", "pickle-protocol", "record-version", "state-again"});

/// Of formats whose keys name what is loaded: a reader may take the first one.
constexpr auto keyed_formats = std::to_array<std::string_view>({"json", "msgpack", "keras_config"});

/// Records that torch.save writes beside its storages.
constexpr auto torch_records =
    std::to_array<std::string_view>({"data.pkl", "byteorder", "version", ".data/version", ".data/serialization_id",
                                     ".format_version", ".storage_alignment"});

class Accountant {
 public:
  Accountant(std::shared_ptr<const Source> source, const Container& container)
      : source_(std::move(source)), container_(container) {}

  Account run() && {
    const std::string_view format = container_.format();
    for (const Finding& finding : container_.findings()) {
      const bool is_double = finding.code == "duplicate-key" && holds(keyed_formats, format);
      if (is_double || holds(doubtful, finding.code)) doubt(finding.message);
    }
    if (format == "pickle" || format == "torch_dcp") follow(*source_, 0, 1);
    if (format == "torch_legacy") follow(*source_, 0, legacy_pickles);
    if (format == "npy") look_at_array();
    if (format == "torch_tar") follow(*source_, torch_tar_object(*source_)->offset, 1);
    if (format == "torch_zip" || format == "npz" || format == "keras") look_at_zip(format);
    return std::move(account_);
  }

 private:
  static constexpr int legacy_pickles = 5;  ///< magic number, protocol, system, the object, its storages' keys

  void doubt(std::string why) { account_.doubts.push_back(std::move(why)); }

  /// So many pickles, one behind the other.
  void follow(const Source& source, std::uint64_t at, int pickles) {
    for (int i = 0; i < pickles; ++i) {
      const PickleScan scan = scan_pickle(source, at);
      account_.calls += scan.calls;
      account_.is_beyond_weights_only |= !scan.is_read_by_weights_only;
      at = scan.end;
      if (!scan.has_plain_frames) doubt("its frames are read differently by different loaders");
      if (scan.is_whole) continue;
      const char* what =
          has_joblib_array() ? "joblib's arrays, which pickle.load takes for opcodes, stand" : "its opcodes break off";
      doubt(fmt::format("{} at offset {}", what, at));
      return;
    }
    if (pickles == 1 && at < source.size()) look_behind(source, at);
  }

  [[nodiscard]] bool has_joblib_array() const {
    const std::vector<GlobalName> globals = container_.globals();
    return std::ranges::any_of(globals, [](const GlobalName& global) { return global.name == "NumpyArrayWrapper"; });
  }

  void look_behind(const Source& source, std::uint64_t end) {
    PickleProbe probe = probe_pickle(source, end);
    account_.calls += probe.calls;
    std::ranges::move(probe.globals, std::back_inserter(account_.globals));
  }

  /// An array of objects is a pickle behind its header.
  void look_at_array() {
    const NpyHeader header = read_npy(source_);
    if (header.is_object) follow(*source_, header.array.place.offset, 1);
  }

  void look_at_zip(std::string_view format) {
    const ZipArchive archive(source_);
    HiddenInZip hidden = hidden_in_zip(archive);
    for (std::string& told : hidden.told) doubt(std::move(told));
    for (const FormerMember& former : hidden.former) {
      if (format == "torch_zip") look_at_record(record_name(*former.entry));
    }
    for (const ZipEntry& entry : archive.entries()) {
      if (entry.name.ends_with(".pkl")) follow(*open_member(archive, entry), 0, 1);
      if (format == "torch_zip") look_at_record(record_name(entry));
    }
  }

  static std::string_view record_name(const ZipEntry& entry) { return entry.name.substr(entry.name.find('/') + 1); }

  /// Storages are called by numbers.
  static bool is_storage(std::string_view name) {
    constexpr std::string_view folder = "data/";
    return name.starts_with(folder) && name.find_first_not_of("0123456789", folder.size()) == name.npos;
  }

  void look_at_record(std::string_view name) {
    if (is_storage(name) || holds(torch_records, name)) return;
    doubt(fmt::format("holds a record that torch.save does not write: {}", name));
  }

  std::shared_ptr<const Source> source_;
  const Container& container_;
  Account account_;
};

}  // namespace

std::vector<std::string> doubts_of_zip(const ZipArchive& archive) {
  std::vector<std::string> doubts;
  for (const Finding& finding : check_members(archive)) doubts.push_back(finding.message);
  HiddenInZip hidden = hidden_in_zip(archive);
  std::ranges::move(hidden.told, std::back_inserter(doubts));
  for (const FormerMember& former : hidden.former) doubts.push_back(former_name(*former.entry) + " is not read");
  return doubts;
}

Account account_of(const std::shared_ptr<const Source>& source, const Container& container) {
  return Accountant(source, container).run();
}

}  // namespace tare
