#include "kernels/cpu/backend.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "kernels/cpu/fp_environment.hpp"
#include "kernels/fold.hpp"
#include "kernels/magnitude.hpp"
#include "kernels/plan.hpp"

namespace tare::kernels::cpu {
namespace {

constexpr Grain kGrain = {.piece_elements = kPieceElements, .item_bytes = 256 << 10, .item_pieces = kTogether};
// Below this it takes longer to wake a thread than to do its work.
constexpr std::uint64_t kLeastParallelBytes = 512 << 10;
// Tiny tensors may lie anywhere in memory: it is asked for them this many pieces ahead.
constexpr std::size_t kPiecesAhead = 16;
// Outputs of lists above this are written past the cache, which would have lost them before anyone reads them.
constexpr std::uint64_t kLeastBypassBytes = 64 << 20;

Recipe make_recipe(const Plan& plan, const Transform& transform, double threshold) {
  Recipe recipe = {};
  for (const Tensor& tensor : plan.tensors()) {
    std::uint64_t& pattern = recipe.threshold_pattern[static_cast<int>(tensor.dtype)];
    if (pattern == 0) pattern = pattern_of_threshold(tensor.dtype, threshold);
  }
  recipe.inverse_scale = transform.inverse_scale != nullptr ? *transform.inverse_scale : 1.0f;
  recipe.coefficient = transform.coefficient != nullptr ? *transform.coefficient : 1.0f;
  recipe.limit = transform.limit;
  recipe.scales = recipe.inverse_scale != 1.0f;
  recipe.scale_is_nan = std::isnan(recipe.inverse_scale);
  recipe.factors_are_finite = std::isfinite(recipe.inverse_scale) && std::isfinite(recipe.coefficient);
  recipe.clips_norm = recipe.coefficient != 1.0f;
  recipe.clips_values = std::isfinite(recipe.limit);
  recipe.only_scales = recipe.scales && !recipe.scale_is_nan && !recipe.clips_norm && !recipe.clips_values;
  recipe.bypass_cache = plan.bytes() >= kLeastBypassBytes;
  return recipe;
}

/// What fold_pieces makes of one piece.
Statistics fold_one(const PieceFound& piece, std::uint64_t count) {
  Statistics statistics;
  statistics.sum_of_squares = piece.sum_of_squares;
  statistics.zeros = piece.zeros;
  statistics.below = piece.below;
  finish_fold(statistics, piece.max_bits, count);
  return statistics;
}

void fold_each(const Plan& plan, std::span<const PieceFound> found, Statistics* each) {
  std::size_t piece = 0;
  for (std::uint32_t i = 0; i < plan.tensors().size(); ++i) {
    const std::size_t first = piece;
    while (piece < found.size() && plan.pieces()[piece].tensor == i) ++piece;
    const std::uint64_t count = plan.tensors()[i].count;
    each[i] = piece - first == 1 ? fold_one(found[first], count)
                                 : fold_pieces(piece - first, count, [&](std::size_t j) { return found[first + j]; });
  }
}

void fold(const Plan& plan, std::span<const PieceFound> found, const Findings& findings) {
  if (findings.each != nullptr) fold_each(plan, found, findings.each);
  const Statistics total = fold_pieces(found.size(), plan.elements(), [&](std::size_t i) { return found[i]; });
  if (findings.found_inf != nullptr && !std::isfinite(total.max_abs)) *findings.found_inf = 1.0f;
  if (findings.total != nullptr) merge(*findings.total, total);
}

}  // namespace

class CpuList : public TensorList {
 public:
  explicit CpuList(CpuBackend& backend) : backend_(backend), plan_(kGrain) {}

  void assign(const Tensor* tensors, std::size_t count, Stream) override {
    plan_.assign({tensors, count});
    try {
      found_.resize(plan_.pieces().size());
    } catch (...) {
      plan_.assign({});
      throw;
    }
  }

  bool rebind(const Tensor* tensors, std::size_t count, Stream) override { return plan_.rebind({tensors, count}); }

  void observe(const Findings& findings, Stream) override { pass({}, findings, nullptr); }

  void unscale(const float* inverse_scale, const Findings& findings, Stream) override {
    pass({.inverse_scale = inverse_scale}, findings, plan_.tensors().data());
  }

  void write(const Tensor* outputs, const Transform& transform, const Findings& findings, Stream) override {
    pass(transform, findings, outputs);
  }

 private:
  void pass(const Transform& transform, const Findings& findings, const Tensor* outputs) {
    const FpEnvironment environment;
    const Recipe recipe = make_recipe(plan_, transform, findings.threshold);
    const std::size_t items = plan_.item_count();
    std::atomic<std::size_t> next{0};
    auto take_items = [&] {
      for (std::size_t i = next.fetch_add(1, std::memory_order_relaxed); i < items;
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        run_item(plan_.item(i), recipe, outputs);
      }
    };
    if (plan_.bytes() < kLeastParallelBytes) {
      take_items();
    } else {
      backend_.workers_.run(take_items);
    }
    fold(plan_, found_, findings);
  }

  void run_item(std::span<const Piece> pieces, const Recipe& recipe, const Tensor* outputs) {
    while (!pieces.empty()) {
      if (pieces.size() > kPiecesAhead) __builtin_prefetch(first_element(pieces[kPiecesAhead]));
      std::size_t done = 1;
      if (const PiecesFunction together = function_for(pieces, recipe, outputs)) {
        run_together(together, pieces.first(kTogether), recipe);
        done = kTogether;
      } else {
        run_piece(pieces.front(), recipe, outputs);
      }
      pieces = pieces.subspan(done);
    }
  }

  /// What works on the first kTogether pieces in turns; null if they are not of that kind.
  PiecesFunction function_for(std::span<const Piece> pieces, const Recipe& recipe, const Tensor* outputs) const {
    if (pieces.size() < kTogether) return nullptr;
    const Piece& last = pieces[kTogether - 1];
    if (last.tensor != pieces.front().tensor || last.count != kPieceElements) return nullptr;
    const Tensor& input = plan_.tensors()[last.tensor];
    const Tensor& output = outputs == nullptr ? input : outputs[last.tensor];
    if (output.data != input.data || output.dtype != input.dtype) return nullptr;
    const int id = static_cast<int>(input.dtype);
    if (outputs == nullptr || keeps_every_bit(recipe, input, output)) return backend_.pieces_.observe_together[id];
    return recipe.only_scales ? backend_.pieces_.unscale_together[id] : nullptr;
  }

  void run_together(PiecesFunction together, std::span<const Piece> pieces, const Recipe& recipe) {
    const Tensor& input = plan_.tensors()[pieces.front().tensor];
    Found found[kTogether];
    together(first_element(pieces.front()), recipe, found);
    for (std::size_t i = 0; i < kTogether; ++i) keep(found[i], pieces[i], input.dtype);
  }

  void run_piece(const Piece& piece, const Recipe& recipe, const Tensor* outputs) {
    const Tensor& input = plan_.tensors()[piece.tensor];
    void* const from = first_element(piece);
    const int id = static_cast<int>(input.dtype);
    Found found;
    if (outputs == nullptr) {
      backend_.pieces_.observe[id](from, nullptr, piece.count, recipe, found);
    } else {
      const Tensor& output = outputs[piece.tensor];
      write_piece(from, element(output, piece.offset), piece.count, recipe, input, output, found);
    }
    keep(found, piece, input.dtype);
  }

  void keep(const Found& found, const Piece& piece, Dtype dtype) {
    found_[static_cast<std::size_t>(&piece - plan_.pieces().data())] = {
        found.sum_of_squares, bits_of(magnitude(dtype, found.max_pattern)), found.zeros, found.below};
  }

  void write_piece(void* from, void* to, std::uint32_t count, const Recipe& recipe, const Tensor& input,
                   const Tensor& output, Found& found) {
    const int id = static_cast<int>(input.dtype);
    if (!keeps_every_bit(recipe, input, output)) {
      return backend_.pieces_.write[id][static_cast<int>(output.dtype)](from, to, count, recipe, found);
    }
    backend_.pieces_.observe[id](from, nullptr, count, recipe, found);
    if (to != from) std::memcpy(to, from, count * static_cast<std::size_t>(size_of(input.dtype)));
  }

  /// Nothing to calculate: even NaN that are not quiet stay so, but for 16 bits, where torch converts there and back.
  /// Not left to the vector code: a compiler may turn "times x or not" into "times x or 1".
  static bool keeps_every_bit(const Recipe& recipe, const Tensor& input, const Tensor& output) {
    return input.dtype == output.dtype && size_of(input.dtype) >= 4 && !recipe.scales && !recipe.clips_norm &&
           !recipe.clips_values;
  }

  void* first_element(const Piece& piece) const { return element(plan_.tensors()[piece.tensor], piece.offset); }

  static void* element(const Tensor& tensor, std::uint64_t index) {
    return static_cast<std::byte*>(tensor.data) + index * static_cast<std::uint64_t>(size_of(tensor.dtype));
  }

  CpuBackend& backend_;
  Plan plan_;
  std::vector<PieceFound> found_;  // one a piece
};

std::unique_ptr<TensorList> CpuBackend::make_list() {
  return std::make_unique<CpuList>(*this);
}

}  // namespace tare::kernels::cpu
