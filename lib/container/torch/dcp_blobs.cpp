#include "lib/container/torch/dcp_blobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lib/base/distant_source.hpp"
#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/parallel.hpp"
#include "lib/container/torch/dcp_tensor.hpp"

namespace tare {
namespace {

/// Items up to this size are read whole, together with their neighbours; of larger ones only what is asked for.
constexpr std::uint64_t read_whole = std::uint64_t{64} << 10;
constexpr std::uint64_t longest_run = std::uint64_t{4} << 20;
/// Reading over a gap of this size costs less than a second read.
constexpr std::uint64_t widest_gap = std::uint64_t{16} << 10;

/// A file of which some runs are in memory already.
class BlobsAhead final : public Source {
 public:
  explicit BlobsAhead(std::shared_ptr<const Source> file) : Source(file->budget()), file_(std::move(file)) {}

  void read_ahead(Span run) { runs_.emplace_back(run.offset, file_->read(run)); }

  [[nodiscard]] std::uint64_t size() const override { return file_->size(); }
  [[nodiscard]] const std::string& name() const override { return file_->name(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    const auto behind = std::upper_bound(runs_.begin(), runs_.end(), offset,
                                         [](std::uint64_t at, const auto& run) { return at < run.first; });
    if (behind != runs_.begin()) {
      const auto& [begin, bytes] = *std::prev(behind);
      if (offset - begin <= bytes.size() && to.size() <= bytes.size() - (offset - begin)) {
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset - begin), to.size(), to.begin());
        return;
      }
    }
    file_->read(offset, to);
  }
  using Source::read;

 private:
  std::shared_ptr<const Source> file_;
  std::vector<std::pair<std::uint64_t, Bytes>> runs_;  ///< by offset
};

/// The runs that hold all small items of one file, by offset.
std::vector<Span> runs_of(std::vector<Span> places, std::uint64_t file_size) {
  std::erase_if(places, [&](Span p) { return p.size > read_whole || p.offset > file_size || p.end() > file_size; });
  std::sort(places.begin(), places.end(), [](Span a, Span b) { return a.offset < b.offset; });
  std::vector<Span> runs;
  for (const Span place : places) {
    const bool is_near = !runs.empty() && place.offset <= runs.back().end() + widest_gap &&
                         place.end() - runs.back().offset <= longest_run;
    if (!is_near) {
      runs.push_back(place);
    } else if (place.end() > runs.back().end()) {
      runs.back().size = place.end() - runs.back().offset;
    }
  }
  return runs;
}

class BlobReader {
 public:
  BlobReader(const SourceFolder& folder, const std::string& name, const DcpMetadata& metadata,
             const std::vector<bool>& chosen)
      : folder_(folder), metadata_(metadata), chosen_(chosen), part_of_file_(metadata.files.size(), unopened) {
    result_.parts.push_back(name);
    result_.sources.push_back(nullptr);
  }

  DcpBlobs read() {
    open_files();
    const auto last = last_of_each_key();
    for (std::size_t i = 0; i < metadata_.items.size(); ++i) {
      if (!chosen_[i]) continue;
      const DcpItem& item = metadata_.items[i];
      if (last.at(item.key) == i) {
        read_item(item);
      } else if (!item.is_tensor) {
        tell(Severity::error, "item-not-read",
             "is listed twice: torch takes the last, another reader may take the first", metadata_.files[item.file],
             item.key);
      }
    }
    return std::move(result_);
  }

 private:
  static constexpr std::size_t unopened = 0;
  static constexpr std::size_t most_files_at_once = 64;
  static constexpr std::size_t bytes_a_blob = 1024;  ///< with the reader of its format

  void tell(Severity severity, const char* code, std::string message, std::string file, std::string_view key) {
    result_.findings.push_back({severity, code, std::move(message), std::move(file), std::string(key)});
  }

  /// A tensor may be stored in pieces under one key; an object may not.
  [[nodiscard]] std::unordered_map<std::string_view, std::size_t, KeyedHash> last_of_each_key() const {
    std::unordered_map<std::string_view, std::size_t, KeyedHash> last;
    for (std::size_t i = 0; i < metadata_.items.size(); ++i) {
      if (chosen_[i]) last[metadata_.items[i].key] = i;
    }
    return last;
  }

  void open_files() {
    std::vector<std::vector<Span>> places(metadata_.files.size());
    for (std::size_t i = 0; i < metadata_.items.size(); ++i) {
      if (chosen_[i]) places[metadata_.items[i].file].push_back(metadata_.items[i].place);
    }
    std::vector<OpenedFile> opened;
    for (std::size_t file = 0; file < places.size(); ++file) {
      if (!places[file].empty()) opened.push_back(open_file(file, std::move(places[file])));
    }
    const bool is_far = std::ranges::any_of(opened, [](const OpenedFile& file) { return is_distant(file.source); });
    if (is_far)
      for_each_waiting(
          opened.size(), [&](std::size_t i) { opened[i].fetch(); }, {}, most_files_at_once);
    for (OpenedFile& file : opened) take_file(file);
  }

  struct OpenedFile {
    std::size_t number;
    std::shared_ptr<const Source> source = {};  ///< null: it cannot be opened
    std::vector<Span> runs = {};
    std::string problem = {};

    void fetch() {
      try {
        if (source != nullptr) fetch_ahead(*source, runs);
      } catch (const Error& error) {
        problem = error.what();
      }
    }
  };

  static bool is_distant(const std::shared_ptr<const Source>& source) {
    return source != nullptr && tare::is_distant(*source);
  }

  OpenedFile open_file(std::size_t number, std::vector<Span> places) {
    OpenedFile opened{number};
    try {
      opened.source = folder_.open(metadata_.files[number]);
      require_apart(*opened.source, places);
      opened.runs = runs_of(std::move(places), opened.source->size());
    } catch (const Error& error) {
      opened.problem = error.what();
    }
    return opened;
  }

  void take_file(OpenedFile& opened) {
    const std::string& name = metadata_.files[opened.number];
    try {
      if (!opened.problem.empty()) return tell(Severity::error, "file-not-read", opened.problem, name, {});
      auto ahead = std::make_shared<BlobsAhead>(opened.source);
      for (const Span run : opened.runs) ahead->read_ahead(run);
      part_of_file_[opened.number] = result_.parts.size();
      result_.parts.push_back(name);
      result_.sources.push_back(std::move(ahead));
    } catch (const Error& error) {
      tell(Severity::error, "file-not-read", error.what(), name, {});
    }
  }

  /// Items that overlap would be read again and again: a small file could ask for hours of work.
  static void require_apart(const Source& file, const std::vector<Span>& places) {
    std::uint64_t left = file.size();
    for (const Span place : places) {
      if (place.end() > file.size()) continue;  // cut short: said of the item
      if (place.size > left) {
        throw Error(Status::refused, fmt::format("{}: its items have more bytes than the file", file.name()),
                    "no framework stores two items in the same bytes");
      }
      left -= place.size;
    }
  }

  void read_item(const DcpItem& item) {
    const std::size_t part = part_of_file_[item.file];
    if (part == unopened) return;
    if (const std::string& transforms = metadata_.transforms[item.transforms]; !transforms.empty()) {
      tell(Severity::error, "item-not-read",
           fmt::format("is stored transformed ({}), which tare does not read", transforms), result_.parts[part],
           item.key);
      return;
    }
    try {
      folder_.budget()->take_memory(bytes_a_blob + item.key.size());
      result_.blobs.push_back(opened(item, part));
    } catch (const Error& error) {
      if (folder_.budget()->is_spent() || result_.sources[part]->budget()->is_spent()) throw;
      // An item may be bytes of its maker's own kind: those hold no state that anybody knows.
      if (error.status == Status::unsupported) return;
      tell(Severity::error, "item-not-read", error.what(), result_.parts[part], item.key);
      return;
    }
    const DcpBlob& blob = result_.blobs.back();
    if (blob.container->tree().bytes().size() <= blob.window->size()) return;
    throw Error(Status::refused, fmt::format("{}: is compressed, as torch.save never writes it", blob.window->name()),
                "thousands of such items could fill any memory; load and save the checkpoint with torch first");
  }

  [[nodiscard]] DcpBlob opened(const DcpItem& item, std::size_t part) {
    const auto& file = result_.sources[part];
    const std::string name = fmt::format("{} ({})", file->name(), item.key);
    if (item.is_tensor && has_safetensors_at(*file, item.place.offset)) {
      const Span rest{item.place.offset, file->size() - item.place.offset};
      auto image = std::make_shared<const WindowSource>(file, rest, name);
      auto [header, is_new] = headers_.try_emplace({part, item.place.offset});
      if (is_new) header->second = read_safetensors_header(*image);
      image->budget()->take_steps(header->second.entries.size());
      return {&item, part, image, open_image_tensor(image, header->second, item.key), 0, true};
    }
    auto window = std::make_shared<const WindowSource>(file, item.place, name);
    return {&item, part, window, open_container(window), 0, false};
  }

  const SourceFolder& folder_;
  const DcpMetadata& metadata_;
  const std::vector<bool>& chosen_;
  std::vector<std::size_t> part_of_file_;
  std::map<std::pair<std::size_t, std::uint64_t>, SafetensorsHeader> headers_;  ///< by part and offset
  DcpBlobs result_;
};

}  // namespace

DcpBlobs read_dcp_blobs(const SourceFolder& folder, const std::string& name, const DcpMetadata& metadata,
                        const std::vector<bool>& chosen) {
  return BlobReader(folder, name, metadata, chosen).read();
}

}  // namespace tare
