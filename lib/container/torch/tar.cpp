#include "lib/container/torch/tar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/container/pickle/pickle_file.hpp"

namespace tare {
namespace {

// POSIX.1-1988 (ustar) header: fields are text, numbers octal.
constexpr std::uint64_t block = 512;
constexpr std::size_t name_size = 100, size_at = 124, size_size = 12, magic_at = 257;
constexpr std::string_view magic = "ustar";
constexpr const char* save_anew = "load it with torch, and save it again";
/// torch wrote three; others may have added a few.
constexpr std::size_t most_members = 64;
constexpr auto needed = std::to_array<std::string_view>({"storages", "tensors", "pickle"});

std::string_view text_field(ByteView header, std::size_t at, std::size_t size) {
  const std::string_view field = as_text(header).substr(at, size);
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

/// One member; nothing at the block of zeros that ends an archive.
struct Member {
  std::string name;
  Span data;
};

std::optional<Member> member_at(const Source& source, std::uint64_t header_at) {
  if (source.size() - header_at < block) return std::nullopt;
  const Bytes header = source.read({header_at, block});
  if (text_field(header, 0, name_size).empty()) return std::nullopt;
  std::string_view digits = text_field(header, size_at, size_size);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find(' '));
  std::uint64_t size = 0;
  constexpr int octal = 8;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), size, octal);
  const std::uint64_t data_at = header_at + block;
  if (problem != std::errc() || end != digits.data() + digits.size() || size > source.size() - data_at) {
    throw Error(Status::corrupt,
                fmt::format("{}: the tar member at {} has no size that fits", source.name(), header_at),
                "the copy was cut short, or damaged: take another one");
  }
  return Member{std::string(text_field(header, 0, name_size)), {data_at, size}};
}

/// The place of the pickle, if all members are there that torch wrote.
std::optional<Span> object_in(const Source& source) {
  std::array<bool, needed.size()> seen{};
  std::optional<Span> object;
  std::uint64_t at = 0;
  for (std::size_t count = 0; count < most_members; ++count) {
    const auto member = member_at(source, at);
    if (!member) break;
    const auto which = std::find(needed.begin(), needed.end(), member->name);
    if (which != needed.end()) seen[static_cast<std::size_t>(which - needed.begin())] = true;
    if (member->name == needed.back()) object = member->data;
    const std::uint64_t end = member->data.end();
    at = end + (block - end % block) % block;
    if (at >= source.size()) break;
  }
  const bool is_whole = std::all_of(seen.begin(), seen.end(), [](bool is_there) { return is_there; });
  return is_whole ? object : std::nullopt;
}

class TorchTar final : public Container {
 public:
  TorchTar(std::string name, std::unique_ptr<Container> object)
      : name_(std::move(name)), object_(std::move(object)), findings_(object_->findings()) {
    // Tensors stand there as bare numbers, as they should.
    std::erase_if(findings_, [](const Finding& finding) { return finding.code == "persistent-id"; });
  }

  [[nodiscard]] std::string_view format() const override { return "torch_tar"; }
  [[nodiscard]] const Tree& tree() const override { return object_->tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return object_->globals(); }
  [[nodiscard]] FileChange change(std::span<const NodeChange>) const override {
    throw Error(Status::refused, name_ + ": a tar archive of torch before 0.2 is only read", save_anew);
  }

 private:
  std::string name_;
  std::unique_ptr<Container> object_;
  std::vector<Finding> findings_;
};

}  // namespace

bool starts_like_tar(ByteView head) {
  return head.size() >= block && as_text(head).substr(magic_at).starts_with(magic);
}

std::unique_ptr<Container> open_torch_tar(const std::shared_ptr<const Source>& source) {
  const auto object = object_in(*source);
  if (!object) {
    throw Error(Status::unsupported,
                source->name() + ": looks like a tar archive: not a checkpoint format that tare reads",
                "unpack it first");
  }
  const auto pickle = std::make_shared<const WindowSource>(source, *object, source->name() + ":pickle");
  return std::make_unique<TorchTar>(source->name(), open_pickle_file(pickle));
}

}  // namespace tare
