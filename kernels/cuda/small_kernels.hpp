// What the small kernels are given, and what they do.
#pragma once

#include "kernels/cuda/pass.hpp"

namespace tare::kernels::cuda {

struct EachArguments {
  const double* sums;
  const PieceCounts* counts;
  const TensorPieces* tensors;
  Statistics* each;
  std::uint64_t count;  ///< of tensors
};

/// As many addresses as fit a launch: they travel with it, so that nothing on the host has to live on.
#if defined(CUDART_VERSION) && CUDART_VERSION < 12010
inline constexpr std::uint32_t most_bindings = 240;  // 4 KB
#else
inline constexpr std::uint32_t most_bindings = 2000;  // 32 KB
#endif

struct BindArguments {
  Binding* to;
  std::uint32_t count;
  Binding bindings[most_bindings];
};

enum class Command : std::int32_t {
  report = 1,
  step = 2,
  put_scale = 3,
  take_over = 4,
  report_layer = 5,
  follow_reduced = 6,
  step_elsewhere = 7,
  forget_raised = 8,
  take_reduced = 9,
  tell_ranks = 10,  ///< leaves a record of what this rank found
  hear_ranks = 11   ///< goes by the record of all ranks
};

/// What is joined with other ranks: a report, or what the last pass of a list found.
struct RankCall {
  RankRecord* record = nullptr;
  std::int32_t what = 0;  ///< a TARE_BACKEND_OBSERVE ..., 0 a report
  std::int32_t scaled = 0;
  std::int32_t steps = 0;
  std::int32_t same_values = 0;  ///< whether all ranks look at as many
  double clip_norm = 0;
};

/// As many lists as follow a scaler in one command.
inline constexpr int most_followers = 64;

struct CommandArguments {
  ScalerCore* core = nullptr;
  Command command = Command::step;
  std::int32_t overflow = 0;
  double scale = 0;
  rule::RunningState running;
  rule::LayerStatistics layer{};
  TorchPlaces elsewhere;
  std::int32_t list_count = 0;
  ListCore* lists[most_followers] = {};
  RankCall ranks;
};

TARE_HD inline RankRecord own_record(const CommandArguments& asked) {
  const bool is_pass = asked.list_count > 0;
  const Statistics seen = is_pass ? asked.lists[0]->seen : Statistics{};
  const bool found_inf = is_pass ? !is_finite(seen.max_abs) : asked.overflow != 0;
  return record_of(asked.ranks.what, *asked.core, asked.ranks.same_values != 0 ? seen.count : 0, seen, found_inf);
}

/// What a pass does at its end where it is alone, or a report. Where ranks part, the list's noop keeps its step from
/// being made, and nothing else is noted.
TARE_HD inline rule::Raised hear_ranks(const CommandArguments& asked) {
  ScalerCore& core = *asked.core;
  const RankRecord& all = *asked.ranks.record;
  ListCore* const list = asked.list_count > 0 ? asked.lists[0] : nullptr;
  const Parting parting = parting_in(own_record(asked), all);
  if (parting.is != 0) {
    if (core.parting.is == 0) core.parting = parting;
    if (list != nullptr) list->shown.noop = 1;
    return rule::Raised::nothing;
  }
  const Statistics seen = statistics_in(all);
  if (list != nullptr) {
    note_findings(*list, seen, asked.ranks.scaled != 0 ? core.shown.inverse_scale : 1.0f, asked.ranks.clip_norm);
  }
  add_findings(core, seen, all.found_inf != 0);
  return asked.ranks.steps != 0 ? step(core) : rule::Raised::nothing;
}

TARE_HD inline void obey(const CommandArguments& asked) {
  ScalerCore& core = *asked.core;
  rule::Raised raised = rule::Raised::nothing;
  switch (asked.command) {
    case Command::report:
      add_findings(core, {}, asked.overflow != 0);
      break;
    case Command::step:
      raised = step(core);
      break;
    case Command::put_scale:
      raised = put_scale(core, asked.scale);
      break;
    case Command::take_over:
      take_over(core, asked.running);
      break;
    case Command::report_layer:
      add_layer(core, asked.layer);
      break;
    case Command::follow_reduced:
      follow_reduced(core);
      for (std::int32_t i = 0; i < asked.list_count; ++i) follow_reduced(*asked.lists[i], core);
      break;
    case Command::take_reduced:
      take_reduced(core, *asked.lists[0]);
      break;
    case Command::step_elsewhere:
      step_elsewhere(core, asked.elsewhere);
      break;
    case Command::forget_raised:
      core.raised = rule::Raised::nothing;
      core.parting = {};
      break;
    case Command::tell_ranks:
      *asked.ranks.record = own_record(asked);
      break;
    case Command::hear_ranks:
      raised = hear_ranks(asked);
      break;
  }
  if (core.raised == rule::Raised::nothing) core.raised = raised;
}

}  // namespace tare::kernels::cuda
