#include "kernels/cpu/backend.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "kernels/cpu/fp_environment.hpp"
#include "kernels/cpu/list_fold.hpp"
#include "kernels/cpu/torn_piece.hpp"
#include "kernels/magnitude.hpp"
#include "kernels/plan.hpp"

namespace tare::kernels::cpu {
namespace {

constexpr Grain grain = {.piece_bytes = most_piece_bytes, .item_bytes = 256 << 10, .item_pieces = together};
// Below this it takes longer to wake a thread than to do its work.
constexpr std::uint64_t least_parallel_bytes = 512 << 10;
// Tiny tensors may lie anywhere in memory: it is asked for so many at once.
constexpr std::size_t small_together = 64;
// So many findings stay in the first cache.
constexpr std::size_t folded_together = 128;
// Outputs of lists above this are written past the cache, which would have lost them before anyone reads them.
constexpr std::uint64_t least_bypass_bytes = 64 << 20;

Recipe make_recipe(const Plan& plan, const Transform& transform, double threshold) {
  Recipe recipe = {};
  for (int id = 0; id < dtype_ids; ++id) {
    const auto dtype = static_cast<Dtype>(id);
    if (plan.has(dtype)) recipe.threshold_pattern[id] = pattern_of_threshold(dtype, threshold);
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
  recipe.bypass_cache = plan.bytes() >= least_bypass_bytes;
  return recipe;
}

}  // namespace

class CpuList : public TensorList {
 public:
  explicit CpuList(CpuBackend& backend) : backend_(backend), plan_(grain) {}

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
    // The one allocation of a pass: of the first that tells of finite values.
    finite_.resize(findings.finite != nullptr ? std::max(finite_.size(), plan_.pieces().size()) : 0);
    ListFold fold(plan_, findings);
    if (backend_.workers_.count() == 1 || plan_.bytes() < least_parallel_bytes) {
      run_alone(recipe, outputs, fold);
    } else {
      run_in_parallel(recipe, outputs);
      fold.add(found_, finite_);
    }
    fold.finish();
  }

  /// What is found is folded while it is in the cache.
  void run_alone(const Recipe& recipe, const Tensor* outputs, ListFold& fold) {
    const std::span<const Piece> pieces = plan_.pieces();
    for (std::size_t first = 0; first < pieces.size();) {
      std::size_t end = std::min(first + folded_together, pieces.size());
      while (end < pieces.size() && pieces[end].tensor == pieces[end - 1].tensor) ++end;
      run_item(pieces.subspan(first, end - first), recipe, outputs, 0);
      fold.add(std::span(found_).first(end - first), finite_);
      first = end;
    }
  }

  void run_in_parallel(const Recipe& recipe, const Tensor* outputs) {
    std::atomic<std::size_t> next{0};
    auto take_items = [&] {
      for (std::size_t i = next.fetch_add(1, std::memory_order_relaxed); i < plan_.item_count();
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        const std::span<const Piece> item = plan_.item(i);
        run_item(item, recipe, outputs, static_cast<std::size_t>(item.data() - plan_.pieces().data()));
      }
    };
    backend_.workers_.run(take_items);
  }

  /// `place`: where what is found goes.
  void run_item(std::span<const Piece> pieces, const Recipe& recipe, const Tensor* outputs, std::size_t place) {
    if (finite_.empty()) return run_pieces(pieces, recipe, outputs, found_.data() + place);
    while (!pieces.empty()) {
      const std::size_t count = cached(pieces);
      run_and_look(pieces.first(count), recipe, outputs, place);
      pieces = pieces.subspan(count);
      place += count;
    }
  }

  /// How many stay in the cache together, one at least.
  static std::size_t cached(std::span<const Piece> pieces) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < pieces.size() && bytes < grain.item_bytes; ++count) {
      bytes += pieces[count].count * static_cast<std::size_t>(size_of(pieces[count].dtype));
    }
    return count;
  }

  /// Looks at what is not finite throughout before anything is written over it.
  void run_and_look(std::span<const Piece> pieces, const Recipe& recipe, const Tensor* outputs, std::size_t place) {
    PieceFound* const found = found_.data() + place;
    run_pieces(pieces, recipe, nullptr, found);
    // Of pieces that ran together the first has the greatest magnitude of all.
    if (!std::all_of(found, found + pieces.size(), is_whole)) {
      for (std::size_t i = 0; i < pieces.size(); ++i) found[i] = run_piece(pieces[i], recipe, nullptr);
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const FiniteValues all{0, 0, double_from(found[i].max_bits), found[i].sum_of_squares};
      finite_[place + i] = is_whole(found[i]) ? all : finite_values(pieces[i]);
    }
    if (outputs != nullptr) run_pieces(pieces, recipe, outputs, found);
  }

  static bool is_whole(const PieceFound& found) { return std::isfinite(double_from(found.max_bits)); }

  /// `found`: one a piece.
  void run_pieces(std::span<const Piece> pieces, const Recipe& recipe, const Tensor* outputs, PieceFound* found) {
    while (!pieces.empty()) {
      const std::size_t done = run_some(pieces, recipe, outputs, found);
      pieces = pieces.subspan(done);
      found += done;
    }
  }

  /// Takes the first of them; returns how many.
  std::size_t run_some(std::span<const Piece> pieces, const Recipe& recipe, const Tensor* outputs, PieceFound* found) {
    const Piece& first = pieces.front();
    const int id = static_cast<int>(first.dtype);
    const PieceTable& table = backend_.pieces_;
    const InPlace in_place = in_place_of(first, recipe, outputs);
    if (in_place != InPlace::none && first.count <= small) {
      const auto& functions = in_place == InPlace::observe ? table.observe_small : table.unscale_small;
      return run_small(functions[id], pieces, recipe, outputs, found);
    }
    if (in_place != InPlace::none && starts_with_whole_pieces(pieces)) {
      const auto& functions = in_place == InPlace::observe ? table.observe_together : table.unscale_together;
      if (functions[id] != nullptr) return run_together(functions[id], first, recipe, found);
    }
    found[0] = run_piece(first, recipe, outputs);
    return 1;
  }

  /// What is done to a tensor where it lies. There is code that does so to several pieces at once.
  enum class InPlace { none, observe, unscale };

  InPlace in_place_of(const Piece& piece, const Recipe& recipe, const Tensor* outputs) const {
    if (outputs == nullptr) return InPlace::observe;
    if (!is_written_in_place(piece, outputs)) return InPlace::none;
    if (keeps_every_bit(recipe, piece.dtype, piece.dtype)) return InPlace::observe;
    return recipe.only_scales ? InPlace::unscale : InPlace::none;
  }

  bool is_written_in_place(const Piece& piece, const Tensor* outputs) const {
    const Tensor* const inputs = plan_.tensors().data();
    if (outputs == inputs) return true;
    const Tensor& output = outputs[piece.tensor];
    return output.data == inputs[piece.tensor].data && output.dtype == piece.dtype;
  }

  /// together of one tensor.
  static bool starts_with_whole_pieces(std::span<const Piece> pieces) {
    if (pieces.size() < together) return false;
    const Piece& last = pieces[together - 1];
    return last.tensor == pieces.front().tensor &&
           last.count == piece_elements(static_cast<std::size_t>(size_of(last.dtype)));
  }

  /// Those that are like the first.
  std::size_t run_small(SmallPiecesFunction function, std::span<const Piece> pieces, const Recipe& recipe,
                        const Tensor* outputs, PieceFound* found) {
    const Dtype dtype = pieces.front().dtype;
    std::size_t count = 0;
    for (const Piece& piece : pieces.first(std::min(small_together, pieces.size()))) {
      if (piece.count > small || piece.dtype != dtype) break;
      if (outputs != nullptr && !is_written_in_place(piece, outputs)) break;
      __builtin_prefetch(piece.data);
      ++count;
    }
    Found found_together[small_together];
    function(pieces.data(), count, recipe, found_together);
    for (std::size_t i = 0; i < count; ++i) found[i] = as_piece_found(found_together[i], dtype);
    return count;
  }

  std::size_t run_together(PiecesFunction function, const Piece& first, const Recipe& recipe, PieceFound* found) {
    Found found_together[together];
    function(first.data, recipe, found_together);
    for (std::size_t i = 0; i < together; ++i) found[i] = as_piece_found(found_together[i], first.dtype);
    return together;
  }

  PieceFound run_piece(const Piece& piece, const Recipe& recipe, const Tensor* outputs) {
    Found found;
    if (outputs == nullptr) {
      backend_.pieces_.observe[static_cast<int>(piece.dtype)](piece.data, nullptr, piece.count, recipe, found);
    } else {
      write_piece(piece, recipe, outputs[piece.tensor], found);
    }
    return as_piece_found(found, piece.dtype);
  }

  static PieceFound as_piece_found(const Found& found, Dtype dtype) {
    return {found.sum_of_squares, bits_of(magnitude(dtype, found.max_pattern)), found.zeros, found.below};
  }

  void write_piece(const Piece& piece, const Recipe& recipe, const Tensor& output, Found& found) {
    const int id = static_cast<int>(piece.dtype);
    const auto size = static_cast<std::size_t>(size_of(output.dtype));
    void* const to = static_cast<std::byte*>(output.data) + plan_.offset(piece) * size;
    if (!keeps_every_bit(recipe, piece.dtype, output.dtype)) {
      return backend_.pieces_.write[id][static_cast<int>(output.dtype)](piece.data, to, piece.count, recipe, found);
    }
    backend_.pieces_.observe[id](piece.data, nullptr, piece.count, recipe, found);
    if (to != piece.data) std::memcpy(to, piece.data, piece.count * size);
  }

  /// Nothing to calculate: even NaN that are not quiet stay so, but for 16 bits, where torch converts there and back.
  /// Not left to the vector code: a compiler may turn "times x or not" into "times x or 1".
  static bool keeps_every_bit(const Recipe& recipe, Dtype from, Dtype to) {
    return from == to && size_of(from) >= 4 && !recipe.scales && !recipe.clips_norm && !recipe.clips_values;
  }

  CpuBackend& backend_;
  Plan plan_;
  std::vector<PieceFound> found_;     // one a piece
  std::vector<FiniteValues> finite_;  // likewise, where a pass tells of finite values
};

std::unique_ptr<TensorList> CpuBackend::make_list() {
  return std::make_unique<CpuList>(*this);
}

}  // namespace tare::kernels::cpu
