#include "lib/base/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

struct TermRule {
  limits::Share share;
  std::uint64_t portion;  ///< granted at a time: whoever takes little by little need not ask each time
  const char* what;       ///< what there is too much of, as a message has it
};

/// By Budget::Term.
constexpr auto rules = std::to_array<TermRule>({
    {limits::tree_bytes, 1 << 18, "bytes of memory for the values in it"},
    {limits::unpacked_bytes, 1 << 18, "bytes that its compressed parts unpack to"},
    {limits::documents, 16, "documents inside it"},
    {limits::steps, 1 << 20, "steps to read it"},
});

}  // namespace

Budget::Budget(std::string file, std::uint64_t size, std::shared_ptr<Budget> whole)
    : file_(std::move(file)), whole_(std::move(whole)), size_(size) {
  static_assert(rules.size() == terms);
}

std::shared_ptr<Budget> Budget::of_files(std::string folder, std::shared_ptr<Budget> whole) {
  auto budget = std::make_shared<Budget>(std::move(folder), 0, std::move(whole));
  budget->is_of_files_ = true;
  return budget;
}

Budget::~Budget() {
  if (whole_ == nullptr) return;
  whole_->give_back(memory, granted_[memory] - kept_);
  for (const Term term : {unpacked, documents, steps}) whole_->give_back(term, left_[term]);
  const std::lock_guard lock(whole_->turn_);
  whole_->kept_ += kept_;
}

void Budget::grow(std::uint64_t bytes) {
  if (whole_ != nullptr) whole_->grow(bytes);
  const std::lock_guard lock(turn_);
  size_ += bytes;
}

std::uint64_t Budget::share(Term term) const {
  const limits::Share& rule = rules[term].share;
  const std::uint64_t beyond = size_ > limits::small_file_bytes ? size_ - limits::small_file_bytes : 0;
  const std::uint64_t more = (beyond >> 10) * rule.a_kib;
  return rule.least + (is_of_files_ ? more : std::min(more, rule.most - rule.least));
}

void Budget::draw(Term term, std::uint64_t amount) {
  left_[term] += grant(term, amount, std::max(amount, rules[term].portion));
}

std::uint64_t Budget::grant(Term term, std::uint64_t least, std::uint64_t most) {
  const std::lock_guard lock(turn_);
  const std::uint64_t left = is_spent_ ? 0 : share(term) - granted_[term];
  if (least > left) refuse(term);
  most = std::min(most, left);
  if (whole_ != nullptr) most = whole_->grant(term, least, most);
  granted_[term] += most;
  return most;
}

void Budget::give_back(Term term, std::uint64_t amount) {
  if (whole_ != nullptr) whole_->give_back(term, amount);
  const std::lock_guard lock(turn_);
  granted_[term] -= amount;
}

void Budget::refuse(Term term) {
  left_.fill(0);
  is_spent_ = true;
  throw Error(Status::refused,
              fmt::format("{}: asks for more than {} {}: the limit for {} of {} bytes", file_, share(term),
                          rules[term].what, is_of_files_ ? "files" : "a file", size_),
              "no framework writes such a file: it looks made to exhaust whoever reads it");
}

}  // namespace tare
