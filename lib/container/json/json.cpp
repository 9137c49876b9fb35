#include "lib/container/json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"
#include "lib/container/plain_change.hpp"
#include "lib/json/reader.hpp"

namespace tare {
namespace {

Bytes whole(const Source& source) {
  if (source.size() > limits::max_state_bytes) {
    throw Error(Status::refused, fmt::format("{}: JSON of {} bytes; the limit is {}", source.name(), source.size(),
                                             limits::max_state_bytes));
  }
  return source.read({0, source.size()});
}

std::string quoted(const std::string& text) {
  const auto stands_for_itself = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(text, stands_for_itself)) {
    throw Error(Status::refused, "\"" + escaped(text) + "\": a text that JSON would have to escape");
  }
  return '"' + text + '"';
}

/// As Python's json writes it.
std::string json_text(const NodeChange& change) {
  if (const auto* anew = std::get_if<NewText>(&change.value)) return quoted(anew->text);
  const NewNumber number = number_of(change);
  if (const auto* flag = std::get_if<bool>(&number)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<Integer>(&number)) return integer->text();
  const double value = std::get<double>(number);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return float_text(value);
}

class Json final : public Container {
 public:
  explicit Json(std::shared_ptr<const Source> source)
      : source_(std::move(source)), contents_(read_json(whole(*source_), source_->name(), source_->budget())) {}

  [[nodiscard]] std::string_view format() const override { return "json"; }
  [[nodiscard]] const Tree& tree() const override { return contents_.tree(); }
  [[nodiscard]] const std::vector<Finding>& findings() const override { return contents_.findings; }
  [[nodiscard]] FileChange change(std::span<const NodeChange> changes) const override {
    std::vector<ChangedRun> runs;
    for (const NodeChange& change : changes) {
      const std::string text = json_text(change);
      const ByteView bytes = as_bytes(text);
      runs.push_back({contents_.place(change.node), Bytes(bytes.begin(), bytes.end()), change.meaning});
    }
    return change_runs(*source_, std::move(runs));
  }

 private:
  std::shared_ptr<const Source> source_;
  PlainTree contents_;
};

}  // namespace

std::unique_ptr<Container> open_json(const std::shared_ptr<const Source>& source) {
  return std::make_unique<Json>(source);
}

}  // namespace tare
