#include "lib/container/keras/keras.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/limits.hpp"
#include "lib/container/hdf5/hdf5.hpp"
#include "lib/container/json/json.hpp"
#include "lib/container/keras_config.hpp"
#include "lib/container/node_change.hpp"
#include "lib/container/numpy/npz.hpp"
#include "lib/container/zip/hidden.hpp"
#include "lib/container/zip/members.hpp"

namespace tare {
namespace {

std::unique_ptr<Container> open_npz_member(const std::shared_ptr<const Source>& source) {
  return open_npz(std::make_unique<const ZipArchive>(source));
}

struct Weights {
  std::string_view member;
  std::unique_ptr<Container> (*open)(const std::shared_ptr<const Source>& source);
};

constexpr std::string_view configuration_name = "config.json";
constexpr std::string_view metadata_name = "metadata.json";

// Keras looks for them in this order.
constexpr auto weights = std::to_array<Weights>({
    {"model.weights.h5", open_hdf5},
    {"model.weights.npz", open_npz_member},
});

const Weights* weights_of(const ZipArchive& archive) {
  for (const Weights& row : weights) {
    if (archive.find(row.member) != nullptr) return &row;
  }
  return nullptr;
}

class Keras final : public Container, public WithConfiguration {
 public:
  explicit Keras(std::unique_ptr<const ZipArchive> archive)
      : archive_(std::move(archive)), findings_(check_members(*archive_)) {
    const Weights& row = *weights_of(*archive_);
    member_ = archive_->find(row.member);
    weights_ = row.open(open_member(*archive_, *member_));
    const auto config = open_member(*archive_, *archive_->find(configuration_name));
    const std::uint64_t size = std::min<std::uint64_t>(config->size(), limits::max_small_text_bytes);
    config_ = read_keras_config(config->read({0, size}), config->name(), config->budget());
    for (const auto& more : {weights_->findings(), config_.findings}) {
      findings_.insert(findings_.end(), more.begin(), more.end());
    }
  }

  [[nodiscard]] std::string_view format() const override { return "keras"; }
  [[nodiscard]] const Tree& tree() const override { return weights_->tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] const Tree* configuration() const override { return config_.tree ? &*config_.tree : nullptr; }
  [[nodiscard]] std::vector<InnerDocument> inner_documents() const override {
    std::vector<InnerDocument> all;
    for (const ZipEntry& entry : archive_->entries()) all.push_back(inner_document(entry));
    for (const FormerMember& former : hidden_in_zip(*archive_).former) all.push_back(former_document(former));
    return all;
  }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    ZipChange change(*archive_);
    change_member(change, *archive_, *member_, weights_->change(changes), joined_meaning(changes));
    return std::move(change).finish();
  }

 private:
  [[nodiscard]] InnerDocument inner_document(const ZipEntry& entry) const {
    const std::string name(entry.name);
    const auto source = open_member(*archive_, entry);
    if (&entry == member_) return {name, source, weights_, {}};
    if (name == configuration_name) return {name, source, open_keras_config(source), {}};
    if (name == metadata_name) return {name, source, open_json(source), {}};
    return not_own(name);
  }

  /// Edits change weights alone.
  static InnerDocument former_document(const FormerMember& former) {
    const std::string name = former_name(*former.entry);
    const auto row = std::ranges::find(weights, former.entry->name, &Weights::member);
    if (row == weights.end()) return not_own(name);
    const auto source = open_member(*former.archive, *former.entry);
    return {name, source, row->open(source), {}, true};
  }

  static InnerDocument not_own(const std::string& name) {
    return {name, nullptr, nullptr, "is a member that is not Keras's own: not read"};
  }

  std::unique_ptr<const ZipArchive> archive_;
  std::vector<Finding> findings_;
  KerasConfig config_;
  const ZipEntry* member_ = nullptr;
  std::shared_ptr<const Container> weights_;
};

}  // namespace

bool is_keras(const ZipArchive& archive) {
  return archive.find(configuration_name) != nullptr && weights_of(archive) != nullptr;
}

std::unique_ptr<Container> open_keras(std::unique_ptr<const ZipArchive> archive) {
  return std::make_unique<Keras>(std::move(archive));
}

}  // namespace tare
