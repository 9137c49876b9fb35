// A pass over a list as blocks of a GPU do it: every block takes items (work_list.hpp) until none is left and writes
// what each piece had; the block that finishes last folds all that, decides what it means, and, if asked, runs the
// rule: one launch for a whole step. The same code runs on the host (simt.hpp).
//
// Sums come out as the CPU's (fold.hpp). A run is read by one group of lanes, and a position's sum stays in the
// register of the lane that always reads that position; where a piece does not begin at a multiple of 16 bytes,
// positions are rotated against lanes, which the tree does not mind: it adds the same pairs. Only bf16, whose tree
// starts with neighbours, is first shifted by one when the rotation is odd. Groups side by side take runs side by side:
// their tree is that of the lanes.
#pragma once

#include "kernels/cuda/lane.hpp"
#include "kernels/fold.hpp"
#include "kernels/magnitude.hpp"
#include "kernels/scaler_core.hpp"
#include "kernels/simt.hpp"
#include "kernels/work_list.hpp"

namespace tare::kernels::cuda {

/// Where a tensor is, now.
struct Binding {
  unsigned char* data;
  std::int32_t dtype;
  std::int32_t unused;
};

/// What becomes of a pass's findings; null pointers: nothing.
struct PassEnd {
  float* found_inf = nullptr;    ///< as Findings has it
  Statistics* total = nullptr;   ///< likewise
  ListCore* list = nullptr;      ///< set anew
  ScalerCore* scaler = nullptr;  ///< added to
  double clip_norm = 0;          ///< above 0: the list's coefficient is that of clipping by this norm
  std::int32_t scaled = 0;       ///< whether the values read are still scaled: the norm is of unscaled ones
  std::int32_t steps = 0;        ///< whether the scaler's update follows at once
};

/// What a block has seen.
struct BlockCounts {
  std::uint64_t max_bits;
  std::uint64_t zeros;
  std::uint64_t below;
};

struct PassArguments {
  const WorkPiece* pieces;
  const Binding* inputs;
  const Binding* outputs;
  double* sums;               ///< one a piece
  PieceCounts* counts;        ///< likewise
  BlockCounts* block_counts;  ///< one a block
  std::uint32_t* ticket;      ///< 0 between launches, as the cursor
  std::uint32_t* cursor;      ///< how many items were taken after the first of each block
  Segment segments[most_segments];
  std::int32_t segment_count;
  std::uint32_t items;
  std::uint32_t piece_count;
  std::uint64_t elements;
  std::uint64_t threshold_pattern[dtypes + 1];  ///< by dtype
  const float* inverse_scale;                   ///< null: 1
  const float* coefficient;                     ///< null: 1
  float limit;
  std::int32_t folds;  ///< whether anybody wants findings
  PassEnd end;
};

/// What the threads of a block share.
struct FoldShared {
  PieceFound parts[2][block_warps];  ///< of the piece that the block shares: what each warp had, by turns
  std::uint32_t piece[2];            ///< its number
  std::uint32_t next[2];
  double sums[threads];
  std::uint64_t max_bits[threads];
  std::uint64_t zeros[threads];
  std::uint64_t below[threads];
  BlockCounts warps[block_warps];
  std::uint32_t ticket;
};

// ---- the findings of a piece

/// Adds the sums of the lanes that share a run; each of them then has it in sums[0]. Lanes of odd skew are those of
/// bf16 pieces that start at an odd place.
template <class E, class OddAt>
TARE_HD inline void add_sums(PerLane<Observer<E>>& found, const OddAt& odd_at) {
  constexpr int count = Layout<E>::per_vector;
  constexpr int lanes = Layout<E>::lanes_per_block;
  const auto plus = [](double a, double b) { return a + b; };
  int left = count;
  if constexpr (E::dtype == Dtype::bf16) {
    PerLane<double> next;
    each_lane([&](int i) { next.value[i] = found.value[i].sums[0]; });
    take_from([&](int i) -> double& { return next.value[i]; },
              [](int lane) { return lane / lanes * lanes + (lane + 1) % lanes; });
    each_lane([&](int i) {
      double(&sums)[count] = found.value[i].sums;
      const bool odd = odd_at(i);
      unrolled<count / 2>([&](int j) {
        const double above = 2 * j + 2 < count ? sums[2 * j + 2 < count ? 2 * j + 2 : 0] : next.value[i];
        sums[j] = sums[2 * j + 1] + (odd ? above : sums[2 * j]);
      });
    });
    left = count / 2;
  }
  for (int mask = lanes / 2; mask > 0; mask /= 2) {
    unrolled<count>([&](int j) {
      if (j < left)
        combine_across(
            mask, [&, j](int i) -> double& { return found.value[i].sums[j]; }, plus);
    });
  }
  each_lane([&](int i) {
    double(&sums)[count] = found.value[i].sums;
    unrolled<count>([&](int step) {  // halves of what is left: the loops are unrolled, so that sums stay in registers
      const int half = left >> (step + 1);
      unrolled<count / 2>([&](int j) {
        unrolled<count>([&](int k) {
          if (j < half && k == j + half) sums[j] += sums[k];
        });
      });
    });
  });
}

/// `lanes`: that share a piece.
template <class E>
TARE_HD inline void add_counts(PerLane<Observer<E>>& found, int lanes) {
  const auto plus = [](std::uint32_t a, std::uint32_t b) { return a + b; };
  for (int mask = lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return found.value[i].zeros; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return found.value[i].below; }, plus);
    combine_across(
        mask, [&](int i) -> typename E::Bits& { return found.value[i].max; },
        [](auto a, auto b) { return a < b ? b : a; });
  }
}

// ---- programs: what a pass does with an item

/// A lane's part in an item: a run, shared with other lanes.
struct Share {
  Stretch stretch;
  const Binding* output;  ///< of its piece; null where the item has fewer pieces
  std::uint32_t found;    ///< the piece's
  bool leads;             ///< of a warp's lanes that share the piece
  bool is_by_twos;        ///< is_read_by_twos, the same for all lanes
  int lane;
};

template <class E, class Visitor>
TARE_HD inline void visit_share(const Share& share, Visitor& visitor) {
  constexpr int lanes = Layout<E>::lanes_per_block;
  if constexpr (sizeof(typename E::Bits) == 2) {
    if (share.is_by_twos) return visit_whole<E>(share.stretch, share.lane, visitor);
  }
  visit_lane<E, lanes>(share.stretch, share.lane % lanes, visitor);
}

template <class E>
TARE_HD inline Share share_of(const PassArguments& pass, const Segment& segment, std::uint32_t item, int warp,
                              int lane) {
  constexpr int lanes = Layout<E>::lanes_per_block;
  constexpr std::uint32_t most = run_elements(sizeof(typename E::Bits));
  const std::uint32_t group = static_cast<std::uint32_t>(warp) * groups_of_warp(E::dtype) +
                              static_cast<std::uint32_t>(lane / lanes);  // of the block's
  const std::uint32_t number =
      (item - segment.first_item) * pieces_of_item(E::dtype, segment.sharers_log2) + (group >> segment.sharers_log2);
  if (number >= segment.pieces) return {{nullptr, nullptr, 0}, nullptr, 0, false, false, lane};
  const WorkPiece piece = pass.pieces[segment.first_piece + number];
  const std::uint32_t run = (group & ((1u << segment.sharers_log2) - 1)) * most;
  const std::uint64_t first = piece.offset + run;
  const Binding* output = pass.outputs == nullptr ? pass.inputs + piece.tensor : pass.outputs + piece.tensor;
  const std::uint32_t left = piece.count > run ? piece.count - run : 0;
  const unsigned char* data = pass.inputs[piece.tensor].data + piece.offset * sizeof(typename E::Bits);
  const Stretch stretch = {
      data + run * sizeof(typename E::Bits),
      output->data + first * static_cast<std::uint64_t>(size_of(static_cast<Dtype>(output->dtype))),
      left < most ? left : most};
  const bool leads = segment.sharers_log2 > 0 ? lane == 0 : lane % lanes == 0;
  return {stretch, output, piece.found, leads, is_read_by_twos<E>(data, piece.count), lane};
}

struct Observe {
  static constexpr bool finds = true;

  template <class E>
  TARE_HD static void visit(const Share& share, const Factors&, Observer<E>& observer) {
    visit_share<E>(share, observer);
  }
};

/// Into outputs of the inputs' dtypes, in place or elsewhere.
struct Unscale {
  static constexpr bool finds = true;

  template <class E>
  TARE_HD static void visit(const Share& share, const Factors& factors, Observer<E>& observer) {
    if constexpr (sizeof(typename E::Bits) > 1) {  // fp8 is only read: checked before
      Writer<E, E, Observer<E>> writer(share.stretch.to, factors, observer);
      visit_share<E>(share, writer);
    }
  }
};

/// As Unscale, where nobody wants findings.
struct Rewrite {
  static constexpr bool finds = false;

  template <class E>
  TARE_HD static void visit(const Share& share, const Factors& factors, Observer<E>&) {
    Blind<E> blind;
    Writer<E, E, Blind<E>> writer(share.stretch.to, factors, blind);
    visit_share<E>(share, writer);
  }
};

/// Into outputs of any dtypes.
struct Write {
  static constexpr bool finds = true;

  template <class E>
  TARE_HD static void visit(const Share& share, const Factors& factors, Observer<E>& observer) {
    if constexpr (sizeof(typename E::Bits) > 1) {
      if (share.output == nullptr) return;
      switch (static_cast<Dtype>(share.output->dtype)) {  // the same for a warp, unless outputs are of mixed dtypes
        case Dtype::f32:
          return into<E, Dtype::f32>(share, factors, observer);
        case Dtype::f64:
          return into<E, Dtype::f64>(share, factors, observer);
        case Dtype::f16:
          return into<E, Dtype::f16>(share, factors, observer);
        case Dtype::bf16:
          return into<E, Dtype::bf16>(share, factors, observer);
        default:
          return;
      }
    }
  }

 private:
  template <class E, Dtype To>
  TARE_HD static void into(const Share& share, const Factors& factors, Observer<E>& observer) {
    constexpr int lanes = Layout<E>::lanes_per_block;
    Writer<E, Element<To>, Observer<E>> writer(share.stretch.to, factors, observer);
    visit_lane<E, lanes>(share.stretch, share.lane % lanes, writer);
  }
};

TARE_HD inline void put_found(const PassArguments& pass, std::uint32_t number, const PieceFound& found) {
  pass.sums[number] = found.sum_of_squares;
  pass.counts[number] = {found.max_bits, found.zeros, found.below};
}

/// Adds what a piece had to what its lane has had.
TARE_HD inline void note_counts(FoldShared& shared, int thread, const PieceFound& found) {
  shared.max_bits[thread] = larger(shared.max_bits[thread], found.max_bits);
  shared.zeros[thread] += found.zeros;
  shared.below[thread] += found.below;
}

/// A warp's share of an item.
template <class Program, class E>
TARE_HD inline void run_item(const PassArguments& pass, const Segment& segment, std::uint32_t item,
                             const Factors& factors, int warp, int turn, FoldShared& shared) {
  constexpr int lanes = Layout<E>::lanes_per_block;
  const bool is_shared = segment.sharers_log2 > 0;
  PerLane<Observer<E>> found;
  PerLane<std::uint32_t> numbers;
  PerLane<std::uint32_t> skews;
  each_lane([&](int i) {
    const Share share = share_of<E>(pass, segment, item, warp, lane_at(i));
    numbers.value[i] = share.leads ? share.found : ~0u;
    skews.value[i] = skew_of<E>(share.stretch);
    Observer<E> observer(pass.threshold_pattern[static_cast<int>(E::dtype)]);
    Program::template visit<E>(share, factors, observer);
    observer.finish();
    found.value[i] = observer;
  });
  if (!Program::finds || pass.folds == 0) return;
  add_sums<E>(found, [&](int i) { return skews.value[i] % 2 != 0; });
  for (int mask = lanes; is_shared && mask < warp_lanes; mask *= 2) {
    combine_across(
        mask, [&](int i) -> double& { return found.value[i].sums[0]; }, [](double a, double b) { return a + b; });
  }
  add_counts<E>(found, is_shared ? warp_lanes : lanes);
  each_lane([&](int i) {
    if (numbers.value[i] == ~0u) return;
    const Observer<E>& all = found.value[i];
    const PieceFound part{all.sums[0], bits_of(magnitude(E::dtype, all.max)), all.zeros, all.below};
    note_counts(shared, warp * warp_lanes + lane_at(i), part);
    if (pieces_of_item(E::dtype, segment.sharers_log2) > 1) return put_found(pass, numbers.value[i], part);
    shared.parts[turn][warp] = part;
    if (warp == 0) shared.piece[turn] = numbers.value[i];
  });
}

/// Puts together what the warps of a block had of the piece that they share: neighbours first, as runs are.
TARE_HD inline void join_parts(const PassArguments& pass, std::uint32_t number,
                               const PieceFound (&parts)[block_warps]) {
  const auto plus = [](auto a, auto b) { return a + b; };
  PerLane<PieceFound> all;
  each_lane([&](int i) { all.value[i] = parts[lane_at(i) % block_warps]; });
  for (int mask = 1; mask < block_warps; mask *= 2) {
    combine_across(
        mask, [&](int i) -> double& { return all.value[i].sum_of_squares; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return all.value[i].max_bits; },
        [](std::uint64_t a, std::uint64_t b) { return larger(a, b); });
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return all.value[i].zeros; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint32_t& { return all.value[i].below; }, plus);
  }
  each_lane([&](int i) {
    if (lane_at(i) == 0) put_found(pass, number, all.value[i]);
  });
}

/// Every dtype of a list, or one alone: less code, fewer registers.
template <class Program, Dtype... Types>
struct For {
  TARE_HD static void item(const PassArguments& pass, const Segment& segment, std::uint32_t item,
                           const Factors& factors, int warp, int turn, FoldShared& shared) {
    ((segment.dtype == static_cast<std::int32_t>(Types)
          ? run_item<Program, Element<Types>>(pass, segment, item, factors, warp, turn, shared)
          : void()),
     ...);
  }
  /// The rest of an item, once all warps have had their shares.
  TARE_HD static void join(const PassArguments& pass, const Segment& segment, const Block& block, int turn,
                           const FoldShared& shared) {
    if (!Program::finds || pass.folds == 0) return;
    if (pieces_of_item(static_cast<Dtype>(segment.dtype), segment.sharers_log2) > 1) return;
    block.in_first_warp([&] { join_parts(pass, shared.piece[turn], shared.parts[turn]); });
  }
};

template <class Arguments>
TARE_HD inline const Segment& segment_of(const Arguments& all, std::uint32_t item) {
  int s = all.segment_count - 1;
  while (s > 0 && item < all.segments[s].first_item) --s;
  return all.segments[s];
}

// ---- the end of a pass

/// What the findings of a whole list mean to whoever asked.
TARE_HD inline void conclude(const PassEnd& end, const Statistics& seen) {
  const bool found_inf = !is_finite(seen.max_abs);
  if (end.found_inf != nullptr && found_inf) *end.found_inf = 1;
  if (end.total != nullptr) merge(*end.total, seen);
  if (end.list != nullptr) {
    const bool scaled = end.scaler != nullptr && end.scaled != 0;
    note_findings(*end.list, seen, scaled ? end.scaler->shown.inverse_scale : 1.0f, end.clip_norm);
  }
  if (end.scaler == nullptr) return;
  add_findings(*end.scaler, seen, found_inf);
  if (end.steps == 0) return;
  const rule::Raised raised = step(*end.scaler);
  if (end.scaler->raised == rule::Raised::nothing) end.scaler->raised = raised;
}

/// Adds up what a warp's lanes have had.
TARE_HD inline void note_warp_counts(FoldShared& shared, int warp) {
  const auto plus = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  PerLane<BlockCounts> lanes;
  each_lane([&](int i) {
    const int t = warp * warp_lanes + lane_at(i);
    lanes.value[i] = {shared.max_bits[t], shared.zeros[t], shared.below[t]};
  });
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return lanes.value[i].max_bits; },
        [](std::uint64_t a, std::uint64_t b) { return larger(a, b); });
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return lanes.value[i].zeros; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return lanes.value[i].below; }, plus);
  }
  each_lane([&](int i) {
    if (lane_at(i) == 0) shared.warps[warp] = lanes.value[i];
  });
}

/// What its warps have had.
TARE_HD inline BlockCounts counts_of_block(const FoldShared& shared) {
  BlockCounts all = shared.warps[0];
  for (int warp = 1; warp < block_warps; ++warp) {
    all.max_bits = larger(all.max_bits, shared.warps[warp].max_bits);
    all.zeros += shared.warps[warp].zeros;
    all.below += shared.warps[warp].below;
  }
  return all;
}

/// A thread's chain: the pieces t, t + fold_chains ..., several of them on their way at once.
TARE_HD inline double sum_of_chain(const PassArguments& pass, std::uint32_t t) {
  static_assert(fold_chains == threads);
  constexpr std::uint32_t batch = 16;
  double sum = 0;
  for (std::uint64_t first = t; first < pass.piece_count; first += batch * fold_chains) {
    double sums[batch];
    unrolled<batch>([&](int i) {
      const std::uint64_t number = first + static_cast<std::uint64_t>(i) * fold_chains;
      sums[i] = number < pass.piece_count ? load_shared_global(pass.sums + number) : 0;
    });
    unrolled<batch>([&](int i) { sum += sums[i]; });
  }
  return sum;
}

/// What the blocks t, t + threads ... have had.
TARE_HD inline void take_block_counts(const PassArguments& pass, const Block& block, std::uint32_t t,
                                      FoldShared& shared) {
  shared.max_bits[t] = 0;
  shared.zeros[t] = 0;
  shared.below[t] = 0;
  for (std::uint32_t number = t; number < block.blocks; number += threads) {
    const BlockCounts* at = pass.block_counts + number;
    shared.max_bits[t] = larger(shared.max_bits[t], load_shared_global(&at->max_bits));
    shared.zeros[t] += load_shared_global(&at->zeros);
    shared.below[t] += load_shared_global(&at->below);
  }
}

/// The tree of what is left of the sums, two for each lane of a warp; the first lane has it.
TARE_HD inline PerLane<double> sums_of_warp(const FoldShared& shared) {
  PerLane<double> sums;
  each_lane([&](int i) { sums.value[i] = shared.sums[lane_at(i)] + shared.sums[lane_at(i) + warp_lanes]; });
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> double& { return sums.value[i]; }, [](double a, double b) { return a + b; });
  }
  return sums;
}

TARE_HD inline void fold_list(const PassArguments& pass, const Block& block, FoldShared& shared) {
  const auto thread = [](int warp, int i) { return static_cast<std::uint32_t>(warp * warp_lanes + lane_at(i)); };
  block.each_warp([&](int warp) {
    each_lane([&](int i) {
      const std::uint32_t t = thread(warp, i);
      shared.sums[t] = sum_of_chain(pass, t);
      take_block_counts(pass, block, t, shared);
    });
    note_warp_counts(shared, warp);
  });
  for (std::uint32_t half = fold_chains / 2; half > warp_lanes; half /= 2) {
    block.each_warp([&](int warp) {
      each_lane([&](int i) {
        const std::uint32_t t = thread(warp, i);
        if (t < half) shared.sums[t] += shared.sums[t + half];
      });
    });
  }
  block.in_first_warp([&] {
    const PerLane<double> sums = sums_of_warp(shared);
    each_lane([&](int i) {
      if (lane_at(i) != 0) return;
      const BlockCounts all = counts_of_block(shared);
      Statistics seen;
      seen.sum_of_squares = sums.value[i];
      seen.zeros = all.zeros;
      seen.below = all.below;
      finish_fold(seen, all.max_bits, pass.elements);
      conclude(pass.end, seen);
    });
  });
}

/// All that one block does.
template <class Items>
TARE_HD inline void run_block(const PassArguments& pass, const Block& block, FoldShared& shared) {
  Factors factors;
  if (pass.inverse_scale != nullptr) factors.inverse_scale = *pass.inverse_scale;
  if (pass.coefficient != nullptr) factors.coefficient = *pass.coefficient;
  factors.limit = pass.limit;
  block.each_warp_alone([&](int warp) {
    each_lane([&](int i) {
      const int t = warp * warp_lanes + lane_at(i);
      shared.max_bits[t] = shared.zeros[t] = shared.below[t] = 0;
    });
  });
  each_item(
      block, pass.items, pass.cursor, shared.next,
      [&](std::uint32_t item, int warp, int turn) {
        Items::item(pass, segment_of(pass, item), item, factors, warp, turn, shared);
      },
      [&](std::uint32_t item, int turn) { Items::join(pass, segment_of(pass, item), block, turn, shared); });
  block.each_warp([&](int warp) {
    if (pass.folds != 0) note_warp_counts(shared, warp);
    publish();
  });
  if (pass.folds != 0) block.in_one_thread([&] { pass.block_counts[block.index] = counts_of_block(shared); });
  if (!block.is_last(pass.ticket, shared.ticket)) return;
  if (pass.folds != 0) fold_list(pass, block, shared);
  block.in_one_thread([&] { *pass.ticket = *pass.cursor = 0; });
}

// ---- each tensor of a list

/// Warp `number` of all folds what tensor `number` had: the chains of a warp's lanes are eight each.
TARE_HD inline void fold_tensor(const double* piece_sums, const PieceCounts* counts, const TensorPieces& tensor,
                                Statistics& into) {
  constexpr int chains = static_cast<int>(fold_chains) / warp_lanes;
  struct Chains {
    double sums[chains];
    std::uint64_t max_bits;
    std::uint64_t zeros;
    std::uint64_t below;
  };
  PerLane<Chains> lanes;
  each_lane([&](int i) {
    Chains& own = lanes.value[i];
    own = {};
    for (std::uint32_t first = static_cast<std::uint32_t>(lane_at(i)); first < tensor.pieces; first += fold_chains) {
      unrolled<chains>([&](int c) {
        const std::uint32_t number = first + static_cast<std::uint32_t>(c * warp_lanes);
        if (number >= tensor.pieces) return;
        const PieceCounts piece = counts[tensor.first + number];
        own.sums[c] += piece_sums[tensor.first + number];
        own.max_bits = larger(own.max_bits, piece.max_bits);
        own.zeros += piece.zeros;
        own.below += piece.below;
      });
    }
    unrolled<4>([&](int c) { own.sums[c] += own.sums[c + 4]; });
    unrolled<2>([&](int c) { own.sums[c] += own.sums[c + 2]; });
    own.sums[0] += own.sums[1];
  });
  const auto plus = [](auto a, auto b) { return a + b; };
  for (int mask = warp_lanes / 2; mask > 0; mask /= 2) {
    combine_across(
        mask, [&](int i) -> double& { return lanes.value[i].sums[0]; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return lanes.value[i].zeros; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return lanes.value[i].below; }, plus);
    combine_across(
        mask, [&](int i) -> std::uint64_t& { return lanes.value[i].max_bits; },
        [](std::uint64_t a, std::uint64_t b) { return larger(a, b); });
  }
  each_lane([&](int i) {
    if (lane_at(i) != 0) return;
    const Chains& all = lanes.value[i];
    Statistics statistics;
    statistics.sum_of_squares = all.sums[0];
    statistics.zeros = all.zeros;
    statistics.below = all.below;
    finish_fold(statistics, all.max_bits, tensor.count);
    into = statistics;
  });
}

}  // namespace tare::kernels::cuda
