#include "lib/container/torch/legacy.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/pickle/read/legacy_stream.hpp"
#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/read/tensor.hpp"
#include "lib/container/pickle/write/plain_file.hpp"
#include "lib/container/preview.hpp"

namespace tare {
namespace {

class TorchLegacy final : public Container {
 public:
  TorchLegacy(std::shared_ptr<const Source> source, LegacyLayout layout)
      : source_(std::move(source)),
        storages_(source_, read_legacy_header(*source_, layout)),
        object_(layout.parts[LegacyLayout::object]),
        keys_(read_legacy_part(*source_, layout, LegacyLayout::keys, "storage keys")),
        text_(std::make_shared<const Bytes>(std::move(layout.text))),
        pickle_(read_pickle(text_, source_->name(), object_.offset, {}, source_->budget())),
        tensors_(std::make_shared<PickleTensors>(pickle_.tree, &storages_)) {
    pickle_.tree.install(tensors_);
    storages_.name_all(pickle_.tree);
    const std::uint64_t end = storages_.place_all(keys_.tree, layout.parts[LegacyLayout::keys].end());
    if (end == source_->size()) return;
    pickle_.findings.push_back({Severity::warning,
                                "trailing-bytes",
                                fmt::format("{} bytes stand behind the last storage", source_->size() - end),
                                {},
                                {}});
  }

  [[nodiscard]] std::string_view format() const override { return "torch_legacy"; }
  [[nodiscard]] const Tree& tree() const override { return pickle_.tree; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return pickle_.findings; }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return pickle_.globals; }
  [[nodiscard]] bool can_add() const override { return true; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    const auto direct = without_nesting(tree(), changes, source_->name());
    const PickleRewrite rewrite = rewrite_pickle(pickle_, object_.offset, *tensors_, direct);
    const ByteView old_pickle = ByteView(*text_).subspan(object_.offset, object_.size);
    FileChange change = change_plain_file(*source_, object_.offset, old_pickle, rewrite, joined_meaning(changes));
    if (rewrite.names_other_storages) require_readable(change);
    return change;
  }

 private:
  /// The file lists its storages apart: torch loads it only where the object names the same ones.
  void require_readable(const FileChange& change) const {
    try {
      open_torch_legacy(std::make_shared<PreviewSource>(source_, change));
    } catch (const Error&) {
      throw Error(Status::refused,
                  source_->name() + ": tensors come or go with the value, and this form lists them apart",
                  "load the checkpoint with torch and save it anew, as a zip");
    }
  }

  std::shared_ptr<const Source> source_;
  LegacyStorages storages_;
  Span object_;
  Pickle keys_;
  std::shared_ptr<const Bytes> text_;
  Pickle pickle_;
  std::shared_ptr<PickleTensors> tensors_;
};

}  // namespace

std::unique_ptr<Container> open_torch_legacy(const std::shared_ptr<const Source>& source) {
  LegacyLayout layout = read_legacy_layout(*source);
  return std::make_unique<TorchLegacy>(source, std::move(layout));
}

}  // namespace tare
