#include "lib/container/torch/tar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/container/pickle/pickle_file.hpp"
#include "lib/container/torch/tar_archive.hpp"
#include "lib/container/torch/tar_streams.hpp"

namespace tare {
namespace {

constexpr std::size_t tar_magic_at = 257;
constexpr std::string_view tar_magic = "ustar";
constexpr const char* save_anew = "load it with torch, and save it again";

using Streams = std::vector<InnerDocument> (*)(const std::shared_ptr<const Source>& source, const std::string& name);
struct TarPart {
  std::string_view name;
  Streams streams;  ///< null: one pickle
};
/// The members that torch wrote; the object comes last.
constexpr auto tar_parts =
    std::to_array<TarPart>({{"storages", tar_storages}, {"tensors", tar_tensors}, {"pickle", nullptr}});

/// The place of the pickle, if all members are there that torch wrote.
std::optional<Span> object_in(const TarArchive& archive) {
  const auto is_there = [&](const TarPart& part) { return archive.find(part.name) != nullptr; };
  if (!std::all_of(tar_parts.begin(), tar_parts.end(), is_there)) return std::nullopt;
  return archive.find(tar_parts.back().name)->data;
}

class TorchTar final : public Container {
 public:
  TorchTar(std::shared_ptr<const Source> source, TarArchive archive, std::unique_ptr<Container> object)
      : source_(std::move(source)),
        archive_(std::move(archive)),
        object_(std::move(object)),
        findings_(object_->findings()) {
    // Tensors stand there as bare numbers, as they should.
    std::erase_if(findings_, [](const Finding& finding) { return finding.code == "persistent-id"; });
  }

  [[nodiscard]] std::string_view format() const override { return "torch_tar"; }
  [[nodiscard]] const Tree& tree() const override { return object_->tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return object_->globals(); }
  [[nodiscard]] std::vector<InnerDocument> inner_documents() const override {
    std::vector<InnerDocument> all;
    for (const std::string& doubt : archive_.doubts) all.push_back({"", nullptr, nullptr, doubt});
    for (const TarMember& member : archive_.members) look_at(member, all);
    return all;
  }
  [[nodiscard]] FileChange change(std::span<const NodeChange>) const override {
    throw Error(Status::refused, source_->name() + ": a tar archive of torch before 0.2 is only read", save_anew);
  }

 private:
  void look_at(const TarMember& member, std::vector<InnerDocument>& all) const {
    const auto part =
        std::find_if(tar_parts.begin(), tar_parts.end(), [&](const TarPart& p) { return p.name == member.name; });
    if (part == tar_parts.end() || archive_.find(member.name) != &member) {
      all.push_back({member.name, nullptr, nullptr, "is a member that torch did not write: not read"});
    } else if (part->streams != nullptr) {
      const auto window = std::make_shared<const WindowSource>(source_, member.data, source_->name());
      for (InnerDocument& inner : part->streams(window, member.name)) all.push_back(std::move(inner));
    }
  }

  std::shared_ptr<const Source> source_;
  TarArchive archive_;
  std::unique_ptr<Container> object_;
  std::vector<Finding> findings_;
};

}  // namespace

bool starts_like_tar(ByteView head) {
  return head.size() >= tar_block_size && as_text(head).substr(tar_magic_at).starts_with(tar_magic);
}

std::unique_ptr<Container> open_torch_tar(const std::shared_ptr<const Source>& source) {
  TarArchive archive = read_tar(*source);
  const auto object = object_in(archive);
  if (!object) {
    throw Error(Status::unsupported,
                source->name() + ": looks like a tar archive: not a checkpoint format that tare reads",
                "unpack it first");
  }
  const auto pickle = std::make_shared<const WindowSource>(source, *object, source->name() + ":pickle");
  return std::make_unique<TorchTar>(source, std::move(archive), open_pickle_file(pickle));
}

std::optional<Span> torch_tar_object(const Source& source) {
  return object_in(read_tar(source));
}

}  // namespace tare
