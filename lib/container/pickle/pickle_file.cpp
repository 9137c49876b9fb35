#include "lib/container/pickle/pickle_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/pickle/read/elided_text.hpp"
#include "lib/container/pickle/read/opcode.hpp"
#include "lib/container/pickle/read/pickle.hpp"
#include "lib/container/pickle/read/scan_ahead.hpp"
#include "lib/container/pickle/read/tensor.hpp"
#include "lib/container/pickle/write/plain_file.hpp"

namespace tare {
namespace {

/// joblib writes arrays between opcodes, where only the machine that follows them knows how long they are: such files
/// are read whole, and so are damaged ones, of which the machine says more.
ElidedText elided_text_of(const Source& source, std::uint64_t begin) {
  try {
    return ElidedText(source, begin);
  } catch (const Error& error) {
    if (error.status != Status::corrupt || source.size() > limits::max_pickle_bytes) throw;
    return ElidedText(source, begin, {.most_whole = limits::max_pickle_bytes});
  }
}

class PickleFile final : public Container {
 public:
  explicit PickleFile(std::shared_ptr<const Source> source, std::uint64_t begin = 0, std::string_view format = "pickle")
      : source_(std::move(source)),
        begin_(begin),
        format_(format),
        elided_(elided_text_of(*source_, begin_)),
        pickle_(read_pickle(elided_.text(), source_->name(), begin_, {}, source_->budget())),
        tensors_(std::make_shared<PickleTensors>(pickle_.tree, nullptr)) {
    pickle_.tree.install(tensors_);
    check_rest();
  }

  /// From now on `node` stands for the whole.
  void set_root(NodeId node) { pickle_.tree.root = node; }

  [[nodiscard]] std::string_view format() const override { return format_; }
  [[nodiscard]] const Tree& tree() const override { return pickle_.tree; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return pickle_.findings; }
  [[nodiscard]] std::vector<GlobalName> globals() const override { return pickle_.globals; }
  [[nodiscard]] bool can_add() const override { return true; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    const auto direct = without_nesting(tree(), changes, source_->name());
    const PickleRewrite rewrite = rewrite_pickle(pickle_, begin_, *tensors_, direct);
    const ByteView old = ByteView(*elided_.text()).subspan(begin_, pickle_.end - begin_);
    return elided_.placed(change_plain_file(*source_, begin_, old, rewrite, joined_meaning(changes)));
  }

 private:
  void check_rest() {
    const std::uint64_t behind = source_->size() - elided_.in_file(pickle_.end);
    if (behind == 0) return;
    // A call alone, and a checkpoint behind it: a loader would run the call and read no more.
    if (pickle_.tree.kind(pickle_.tree.root) == Kind::opaque) {
      throw Error(Status::refused,
                  fmt::format("{}: a pickle of nothing but a call, and {} bytes behind it", source_->name(), behind),
                  "no framework writes such a file; do not load it");
    }
    pickle_.findings.push_back(
        {Severity::warning,
         "trailing-data",
         fmt::format("{} bytes stand behind the end of the pickle, which no loader reads", behind),
         {},
         {}});
  }

  std::shared_ptr<const Source> source_;
  std::uint64_t begin_;
  std::string_view format_;
  ElidedText elided_;
  Pickle pickle_;
  std::shared_ptr<PickleTensors> tensors_;
};

}  // namespace

bool starts_like_pickle(ByteView head) {
  constexpr std::byte proto{0x80};
  return head.size() >= 2 && head[0] == proto && head[1] >= std::byte{2} && head[1] <= std::byte{5};
}

bool is_old_pickle(const Source& source, ByteView head) {
  // Collections start with MARK or as empty ones, objects with their class.
  if (head.empty() || std::string_view("(]}c").find(as_text(head).front()) == std::string_view::npos) return false;
  ScanAhead ahead(source);
  const std::uint64_t end = ahead.end_of(0);
  if (end != source.size() || ahead.bytes()[end - 1] != static_cast<std::byte>(Opcode::stop)) return false;
  try {
    const ByteView text = ahead.bytes();
    const Pickle pickle = read_pickle(std::make_shared<const Bytes>(text.begin(), text.end()), source.name(), 0, {},
                                      std::make_shared<Budget>(source.name(), source.size()));
    return pickle.tree.kind(pickle.tree.root) >= Kind::list;
  } catch (const Error&) {
    return false;  // Text that happens to be made of opcodes.
  }
}

std::unique_ptr<Container> open_pickle_file(const std::shared_ptr<const Source>& source) {
  return std::make_unique<PickleFile>(source);
}

std::unique_ptr<Container> open_pickle_behind(const std::shared_ptr<const Source>& source, std::uint64_t begin,
                                              std::string_view format, NodeId (*root_of)(const Tree&, NodeId)) {
  auto file = std::make_unique<PickleFile>(source, begin, format);
  file->set_root(root_of(file->tree(), file->tree().root));
  return file;
}

}  // namespace tare
