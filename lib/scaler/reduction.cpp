#include "lib/scaler/reduction.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/errors_at_edge.hpp"

namespace tare {
namespace {

using kernels::Agreement;
using kernels::RankRecord;

std::string told_call(std::uint64_t word) {
  constexpr std::array calls{"report_overflow", "observe", "unscale", "write"};  // by TARE_BACKEND_OBSERVE ...
  return word < calls.size() ? calls[word] : std::to_string(word);
}
std::string told_number(std::uint64_t word) {
  return std::to_string(word);
}
std::string told_scale(std::uint64_t word) {
  return float_text(double_from(word));
}

struct Told {
  const char* what;
  std::string (*word)(std::uint64_t word);
  const char* hint;
};
constexpr const char* same_calls = "All ranks make the same calls in the same order, and start from the same state.";
constexpr std::array told{
    Told{"call", told_call, same_calls},
    Told{"step", told_number, same_calls},
    Told{"scale", told_scale, same_calls},
    Told{"number of values", told_number,
         "Replicated gradients are those of every rank; where each has its own, say {\"gradients\":\"sharded\"}."},
};  // by Agreement
static_assert(told.size() == kernels::agreements);

/// As the one reduction and, of gradients that all look at, as one of the greatest.
std::span<std::uint64_t, kernels::record_words> words_of(RankRecord& record) {
  return std::span<std::uint64_t, kernels::record_words>(&record.max_abs, kernels::record_words);
}
static_assert(offsetof(RankRecord, sums) == kernels::record_words * sizeof(std::uint64_t));
static_assert(sizeof(RankRecord) == (kernels::record_words + kernels::record_numbers) * sizeof(std::uint64_t));

void reduce_replicated(Communicator& communicator, std::span<double> sums) {
  std::array<std::uint64_t, kernels::record_numbers> bits{};
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

void require_together(const kernels::Parting& parting) {
  if (parting.is == 0) return;
  const Told& tell = told.at(static_cast<std::size_t>(parting.in));
  throw Error(Status::mismatch,
              "the ranks of the comm are not at the same " + std::string(tell.what) + ": from " +
                  tell.word(parting.least) + " to " + tell.word(parting.greatest) + ", and " + tell.word(parting.here) +
                  " here",
              tell.hint);
}

void Reduction::join(const tare_backend_findings& findings) {
  auto& seen = *static_cast<kernels::Statistics*>(findings.seen);
  const auto& core = *static_cast<const kernels::ScalerCore*>(findings.core);
  const std::uint64_t values = gradients_ == Gradients::replicated ? seen.count : 0;
  const RankRecord own = kernels::record_of(findings.what, core, values, seen, *findings.found_inf != 0);
  RankRecord all = own;
  communicator_->maximum(words_of(all), nullptr);
  require_together(kernels::parting_in(own, all));
  if (gradients_ == Gradients::sharded) {
    communicator_->sum(all.sums, nullptr);
  } else {
    reduce_replicated(*communicator_, all.sums);
  }
  seen = kernels::statistics_in(all);
  *findings.found_inf = all.found_inf != 0 ? 1 : 0;
}

void Reduction::enqueue(RankRecord* record, kernels::Stream stream) {
  const RankNumbers sharded[] = {{&record->max_abs, kernels::record_words, Operation::max_u64},
                                 {record->sums, kernels::record_numbers, Operation::sum_f64}};
  const RankNumbers replicated[] = {{record, kernels::record_words + kernels::record_numbers, Operation::max_u64}};
  communicator_->reduce(gradients_ == Gradients::sharded ? std::span<const RankNumbers>(sharded) : replicated, stream);
}

tare_backend_reduction Reduction::hook() {
  const auto join_ranks = [](void* context, const tare_backend_findings* findings, tare_backend_error* error) {
    return errors_at_edge(error, [&] { static_cast<Reduction*>(context)->join(*findings); });
  };
  const auto enqueue_record = [](void* context, std::int32_t, void* data, void* stream, tare_backend_error* error) {
    return errors_at_edge(error,
                          [&] { static_cast<Reduction*>(context)->enqueue(static_cast<RankRecord*>(data), stream); });
  };
  return {this, join_ranks, enqueue_record, 0, gradients_ == Gradients::replicated ? 1 : 0};
}

}  // namespace tare
