#include "lib/scaler/reduction.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "kernels/backend_edge.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"

namespace tare {
namespace {

/// In what ranks must agree. Of each word the greatest is formed, and of its complement: so all see the least as well.
struct Agreement {
  const char* what;
  std::uint64_t (*word)(const tare_backend_findings& findings);
  std::string (*told)(std::uint64_t word);
};

const rule::RunningState& running_in(const tare_backend_findings& findings) {
  return static_cast<const kernels::ScalerCore*>(findings.core)->running;
}

std::uint64_t call_of(const tare_backend_findings& findings) {
  return static_cast<std::uint64_t>(findings.what);
}
std::string told_call(std::uint64_t word) {
  constexpr std::array calls{"report_overflow", "observe", "unscale", "write"};  // by TARE_BACKEND_OBSERVE ...
  return word < calls.size() ? calls[word] : std::to_string(word);
}

std::uint64_t step_of(const tare_backend_findings& findings) {
  return static_cast<std::uint64_t>(running_in(findings).counters.steps);
}
std::string told_step(std::uint64_t word) {
  return std::to_string(word);
}

std::uint64_t scale_in(const tare_backend_findings& findings) {
  const rule::RunningState& running = running_in(findings);
  return bits_of(rule::scale_of(running.policy.id, running.state));
}
std::string told_scale(std::uint64_t word) {
  return float_text(double_from(word));
}

constexpr std::array agreements{Agreement{"call", call_of, told_call}, Agreement{"step", step_of, told_step},
                                Agreement{"scale", scale_in, told_scale}};

/// What goes into the one MAX: these two, then a word and its complement for each agreement. Bits of magnitudes order
/// as the magnitudes do, nan above infinity.
enum Place : std::size_t { max_abs, found_inf, first_agreement };
using Words = std::array<std::uint64_t, first_agreement + 2 * agreements.size()>;

Words words_of(const tare_backend_findings& findings, const kernels::Statistics& seen) {
  Words words{};
  words[max_abs] = bits_of(seen.max_abs);
  words[found_inf] = *findings.found_inf != 0 ? 1 : 0;
  for (std::size_t i = 0; i < agreements.size(); ++i) {
    const std::uint64_t word = agreements[i].word(findings);
    words[first_agreement + 2 * i] = word;
    words[first_agreement + 2 * i + 1] = ~word;
  }
  return words;
}

void require_agreement(const Words& words, const tare_backend_findings& findings) {
  for (std::size_t i = 0; i < agreements.size(); ++i) {
    const std::uint64_t greatest = words[first_agreement + 2 * i];
    const std::uint64_t least = ~words[first_agreement + 2 * i + 1];
    if (least == greatest) continue;
    const Agreement& agreement = agreements[i];
    throw Error(Status::mismatch,
                "the ranks of the comm are not at the same " + std::string(agreement.what) + ": from " +
                    agreement.told(least) + " to " + agreement.told(greatest) + ", and " +
                    agreement.told(agreement.word(findings)) + " here",
                "All ranks make the same calls in the same order, and start from the same state.");
  }
}

/// What is added up over ranks. Counts are exact up to 2^53.
using Sums = std::array<double, 4>;

Sums sums_of(const kernels::Statistics& seen) {
  return {seen.sum_of_squares, static_cast<double>(seen.count), static_cast<double>(seen.zeros),
          static_cast<double>(seen.below)};
}

kernels::Statistics joined(double greatest, const Sums& sums) {
  const auto count = [](double number) { return static_cast<std::uint64_t>(number); };
  // A nan stays the one that a single process has.
  return {greatest, is_nan(greatest) ? greatest : sums[0], count(sums[1]), count(sums[2]), count(sums[3])};
}

/// None of them is negative: the greatest bits are those of the greatest number.
void reduce_replicated(Communicator& communicator, Sums& sums) {
  std::array<std::uint64_t, std::tuple_size_v<Sums>> bits{};
  std::ranges::transform(sums, bits.begin(), [](double number) { return bits_of(number); });
  communicator.maximum(bits, nullptr);
  std::ranges::transform(bits, sums.begin(), [](std::uint64_t word) { return double_from(word); });
}

}  // namespace

Gradients parse_reduction_options(const char* json) {
  Gradients gradients = Gradients::sharded;
  if (json == nullptr || *json == '\0') return gradients;
  for (const auto& [key, value] : members_of_json(json, "the options")) {
    const auto* text = std::get_if<std::string>(&value);
    const bool replicated = text != nullptr && *text == "replicated";
    if (key != "gradients" || (!replicated && (text == nullptr || *text != "sharded"))) {
      throw Error(Status::invalid_argument, "the options have no \"" + key + "\" of that value",
                  "Options: gradients (\"sharded\" or \"replicated\")");
    }
    gradients = replicated ? Gradients::replicated : Gradients::sharded;
  }
  return gradients;
}

void Reduction::join(const tare_backend_findings& findings) {
  auto& seen = *static_cast<kernels::Statistics*>(findings.seen);
  Words words = words_of(findings, seen);
  communicator_->maximum(words, nullptr);
  require_agreement(words, findings);
  Sums sums = sums_of(seen);
  if (gradients_ == Gradients::sharded) {
    communicator_->sum(sums, nullptr);
  } else {
    reduce_replicated(*communicator_, sums);
  }
  seen = joined(double_from(words[max_abs]), sums);
  *findings.found_inf = words[found_inf] != 0 ? 1 : 0;
}

tare_backend_reduction Reduction::hook() {
  const auto join_ranks = [](void* context, const tare_backend_findings* findings, tare_backend_error* error) {
    return kernels::at_edge(error, [&] {
      try {
        static_cast<Reduction*>(context)->join(*findings);
      } catch (const Error& failure) {
        throw kernels::Refusal(static_cast<std::int32_t>(failure.status), failure.detail, failure.what(), failure.hint);
      }
    });
  };
  return {this, join_ranks};
}

}  // namespace tare
