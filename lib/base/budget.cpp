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
  const char* what;  ///< what there is too much of, as a message has it
};

/// By Budget::Term.
constexpr auto rules = std::to_array<TermRule>({
    {limits::tree_bytes, "bytes of memory for the values in it"},
    {limits::unpacked_bytes, "bytes that its compressed parts unpack to"},
    {limits::documents, "documents inside it"},
    {limits::steps, "steps to read it"},
});

}  // namespace

Budget::Budget(std::string file, std::uint64_t size) : file_(std::move(file)), size_(size) {
  static_assert(rules.size() == terms);
  for (std::size_t term = 0; term < terms; ++term) left_[term] = share(static_cast<Term>(term));
}

std::uint64_t Budget::share(Term term) const {
  const limits::Share& rule = rules[term].share;
  const std::uint64_t beyond = size_ > limits::small_file_bytes ? size_ - limits::small_file_bytes : 0;
  const std::uint64_t room = rule.most - rule.least;
  return rule.least + std::min(room, beyond > room ? room : (beyond >> 10) * rule.a_kib);
}

void Budget::refuse(Term term) {
  left_.fill(0);
  is_spent_ = true;
  throw Error(Status::refused,
              fmt::format("{}: asks for more than {} {}: the limit for a file of {} bytes", file_, share(term),
                          rules[term].what, size_),
              "no framework writes such a file: it looks made to exhaust whoever reads it");
}

}  // namespace tare
