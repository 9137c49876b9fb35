#include "lib/container/pickle/read/value_extents.hpp"

#include <map>
#include <utility>

#include "lib/container/pickle/read/stack.hpp"

namespace tare {
namespace {

class ValueExtents final : public PickleStack {
 public:
  explicit ValueExtents(std::span<const std::uint64_t> wanted) : wanted_(wanted), found_(wanted.size()) {}

  void read(const PickleOp& op) {
    follow(op);
    if (next_ == wanted_.size() || wanted_[next_] != op.begin) return;
    if (height() > 0) open_[height() - 1].push_back(next_);
    ++next_;
  }

  std::vector<WrittenItem> items() && { return std::move(found_); }

 private:
  void take_item(std::size_t depth, Span value, Span item) override {
    const auto open = open_.find(depth);
    if (open == open_.end()) return;
    for (const std::size_t wanted : open->second) found_[wanted] = WrittenItem{value, item};
  }
  void finish_value(std::size_t depth, Span) override { open_.erase(depth); }
  void call_value(std::size_t, Span) override {}  // a tensor is wanted by what its function is given

  std::span<const std::uint64_t> wanted_;
  std::size_t next_ = 0;
  std::vector<WrittenItem> found_;
  std::map<std::size_t, std::vector<std::size_t>> open_;  ///< of wanted_, by the depth of the value that each is of
};

}  // namespace

std::vector<WrittenItem> written_items(ByteView text, std::uint64_t begin, std::uint64_t end,
                                       std::span<const std::uint64_t> wanted) {
  ValueExtents extents(wanted);
  PickleScanner scanner(text, "", begin);
  while (scanner.position() < end) extents.read(scanner.next());
  return std::move(extents).items();
}

}  // namespace tare
