#include "lib/container/recognised.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/error.hpp"

namespace tare {
namespace {

class Recognised final : public Container {
 public:
  Recognised(std::string_view format, std::string_view spelled, std::vector<Finding> findings)
      : format_(format), spelled_(spelled), findings_(std::move(findings)) {
    tree_.root = tree_.add_items(Kind::map, {}, {});
    const Finding note{Severity::note,
                       "format-not-read",
                       fmt::format("tare recognises this {} file but does not read scalers in it yet", spelled),
                       {},
                       {}};
    findings_.insert(findings_.begin(), note);
  }

  [[nodiscard]] std::string_view format() const override { return format_; }
  [[nodiscard]] const Tree& tree() const override { return tree_; }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] FileChange change(std::span<const NodeChange>) const override {
    throw Error(Status::refused, fmt::format("tare does not edit {} files yet", spelled_));
  }

 private:
  std::string_view format_;
  std::string_view spelled_;
  Tree tree_;
  std::vector<Finding> findings_;
};

}  // namespace

std::unique_ptr<Container> recognised(std::string_view format, std::string_view spelled,
                                      std::vector<Finding> findings) {
  return std::make_unique<Recognised>(format, spelled, std::move(findings));
}

}  // namespace tare
