// What one lane does with its share of a piece. Pieces are read in vectors of 16 bytes at addresses that are multiples
// of 16: a piece that starts in between is read from the vector that holds its first element on, and what lies outside
// of it (before the head, behind the tail) is left alone, element by element. Some lanes share a piece: lane q
// takes the vectors q, q + their number ..., several of them in flight before the first is looked at.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cuda/pairs.hpp"
#include "kernels/element.hpp"
#include "kernels/fold.hpp"

namespace tare::kernels::cuda {

inline constexpr std::uint32_t vector_bytes = 16;

struct alignas(16) Vector {
  std::uint32_t words[4];
};

/// A piece as a lane sees it.
struct Stretch {
  const unsigned char* from;
  unsigned char* to;  ///< null where nothing is written
  std::uint32_t count;
};

/// Values that nobody will read again soon stay out of the first-level cache.
TARE_HD inline Vector load_vector(const unsigned char* at) {
  Vector vector;
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(vector.words[0]), "=r"(vector.words[1]), "=r"(vector.words[2]), "=r"(vector.words[3])
               : "l"(at)
               : "memory");
#else
  memcpy(&vector, at, sizeof vector);
#endif
  return vector;
}

/// Element `j` of a vector; `j` is known when compiling once loops are unrolled.
template <class Bits>
TARE_HD inline Bits element_of(const Vector& vector, int j) {
  if constexpr (sizeof(Bits) == 8) {
    return static_cast<Bits>(vector.words[2 * j]) | static_cast<Bits>(vector.words[2 * j + 1]) << 32;
  } else {
    constexpr int in_word = 4 / static_cast<int>(sizeof(Bits));
    return static_cast<Bits>(vector.words[j / in_word] >> (j % in_word * 8 * static_cast<int>(sizeof(Bits))));
  }
}

/// Does `body` with j = 0 ... Count - 1, unrolled.
template <int Count, class Body>
TARE_HD inline void unrolled(const Body& body) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int j = 0; j < Count; ++j) body(j);
}

/// How a dtype lies in vectors.
template <class E>
struct Layout {
  using Bits = typename E::Bits;
  static constexpr int per_vector = static_cast<int>(vector_bytes / sizeof(Bits));
  static constexpr int lanes_per_block = 32 / per_vector;  ///< lanes that read a block of 32 elements together
};

// ---- what is done with values
//
// Each visitor has full(vector, index): per_vector elements, the first of them the index-th of the piece; and
// one(bits, j, index): a single one, at place j of its vector. loads_in_flight: how many vectors a lane asks for before
// it works on them, as many as registers allow.

/// The magnitudes of a vector, two in a word: those of 8 bits as f16, e4m3's divided by 2^8.
template <class E>
struct Pairs {
  static constexpr int count = Layout<E>::per_vector / 2;
  static constexpr int shift = E::dtype == Dtype::f8_e5m2 ? 8 : E::dtype == Dtype::f8_e4m3fn ? 7 : 0;
  std::uint32_t words[count];

  TARE_HD explicit Pairs(const Vector& vector) {
    unrolled<count>([&](int i) {
      if constexpr (sizeof(typename E::Bits) == 2) {
        words[i] = vector.words[i] & 0x7fff7fffu;
      } else {
        const std::uint32_t apart = upper_bytes(vector.words[i / 2], i % 2);
        words[i] = (apart & 0x7f007f00u) >> (8 - shift);
      }
    });
  }
};

/// The sums of a lane's positions before they go on in double, where the dtype has such (fold.hpp); those of e4m3, of
/// which pairs are divided by 2^8, divided by 2^16.
template <class E, bool HasRuns = sizeof(typename E::Bits) <= 2>
struct Runs {};
template <class E>
struct Runs<E, true> {
  static constexpr float factor = E::dtype == Dtype::f8_e4m3fn ? 0x1p16f : 1.0f;
  static constexpr float start = run_start[static_cast<int>(E::dtype)] / factor;
  static constexpr int counters = Layout<E>::per_vector / 8;  ///< a run is too long for one of 8 bits
  float runs[Layout<E>::per_vector];
  PairCounter zero_pairs[counters];
  PairCounter below_pairs[counters];
  std::uint32_t max_pair = 0;
  std::uint32_t vector_max = 0;  ///< of the last vector that was taken as pairs
  std::uint32_t below_limit;     ///< 0: pairs cannot be compared with it
  std::uint32_t is_settled = 0;  ///< bf16: no run is changed by what is low any more. A bool would be in memory

  TARE_HD Runs() {
    for (float& run : runs) run = start;
  }
};

/// What a lane found: its positions' sums, and counts.
template <class E>
class Observer : Runs<E> {
  using Bits = typename E::Bits;

 public:
  static constexpr int sum_count = Layout<E>::per_vector;
  static constexpr int loads_in_flight = sum_count >= 8 ? 4 : 8;

  TARE_HD explicit Observer(std::uint64_t threshold_pattern = 0)
      : patterns_below_(static_cast<Bits>(threshold_pattern == 0 ? 0 : threshold_pattern - 1)) {
    unrolled<sum_count>([&](int j) { sums[j] = 0; });
    if constexpr (has_runs) {
      const std::uint64_t limit = (threshold_pattern == 0 ? 1 : threshold_pattern) << Pairs<E>::shift;
      this->below_limit = limit <= PairCounter::most_limit ? pair_of(static_cast<std::uint32_t>(limit)) : 0;
    }
  }

  TARE_HD void full(const Vector& vector, std::uint32_t index) {
    if constexpr (has_runs) {
      if ((index + sum_count - 1) % run_elements < 32 + sum_count - 1) {
        unrolled<sum_count>([&](int j) { begin_block(j, index + j); });
        this->is_settled = 0;
        take_counts();
      }
      if (this->below_limit != 0 && take_pairs(Pairs<E>(vector))) return;
      this->vector_max = pair_of(0x7fffu);
    }
    unrolled<sum_count>([&](int j) { take(element_of<Bits>(vector, j), j); });
    if constexpr (E::dtype == Dtype::bf16) this->is_settled = least_run() >= bf16_low_run ? 1 : 0;
  }
  TARE_HD void one(Bits bits, int place, std::uint32_t index) {
    // Not sums[place]: an index that is not known when compiling would put the sums into memory.
    unrolled<sum_count>([&](int j) {
      if (j != place) return;
      if constexpr (has_runs) begin_block(j, index);
      take(bits, j);
    });
  }
  TARE_HD void finish() {
    if constexpr (has_runs) {
      unrolled<sum_count>([&](int j) { end_run(j); });
      take_counts();
      const std::uint32_t greatest = larger_half(this->max_pair) >> Pairs<E>::shift;
      max = larger_bits(max, static_cast<Bits>(greatest));
    }
  }

  /// Whether the last full vector is known to have neither an infinity nor a NaN in it.
  TARE_HD bool last_is_finite() const {
    static_assert(has_runs);
    return !any_from(this->vector_max, E::dtype == Dtype::bf16 ? 0x7f80u : 0x7c00u);
  }

  double sums[sum_count];
  Bits max = 0;
  std::uint32_t zeros = 0;
  std::uint32_t below = 0;

 private:
  static constexpr bool has_runs = sizeof(Bits) <= 2;
  static constexpr std::uint32_t run_elements = run_blocks * 32;

  /// Position `j` goes on with the element `index`, which may be the first of a run.
  TARE_HD void begin_block(int j, std::uint32_t index) {
    if (index % run_elements < 32) end_run(j);
  }
  TARE_HD void end_run(int j) {
    const double run = static_cast<double>(this->runs[j]) - static_cast<double>(this->start);
    sums[j] += this->factor == 1.0f ? run : run * static_cast<double>(this->factor);
    this->runs[j] = this->start;
  }

  TARE_HD void take_counts() {
    unrolled<Runs<E>::counters>([&](int i) {
      const std::uint32_t zero = this->zero_pairs[i].take();
      zeros += zero;
      below += this->below_pairs[i].take() - zero;
    });
  }
  TARE_HD static std::uint32_t larger_half(std::uint32_t pair) { return larger_pair(pair, pair >> 16) & 0xffffu; }
  TARE_HD float least_run() const {
    float least = this->runs[0];
    unrolled<sum_count>([&](int j) { least = this->runs[j] < least ? this->runs[j] : least; });
    return least;
  }

  /// A whole vector whose elements all go on in their runs, as stays_in_run says; false, and nothing taken, where one
  /// may not.
  TARE_HD bool take_pairs(const Pairs<E>& pairs) {
    std::uint32_t greatest = pairs.words[0];
    unrolled<Pairs<E>::count>([&](int i) { greatest = larger_pair(greatest, pairs.words[i]); });
    if constexpr (E::dtype == Dtype::bf16) {
      const bool may_leave = this->is_settled == 0 && greatest != 0;
      if (may_leave || any_from(greatest, static_cast<std::uint32_t>(bf16_large_pattern))) return false;
    }
    this->vector_max = greatest;
    this->max_pair = larger_pair(this->max_pair, greatest);
    unrolled<Pairs<E>::count>([&](int i) {
      const std::uint32_t pair = pairs.words[i];
      this->zero_pairs[i / 4].add(pair, pair_of(1));
      this->below_pairs[i / 4].add(pair, this->below_limit);
      float lower;
      float upper;
      widen_pair<E>(pair, lower, upper);
      add_square(this->runs[2 * i], lower);
      add_square(this->runs[2 * i + 1], upper);
    });
    return true;
  }

  TARE_HD void take(Bits bits, int j) {
    const Bits magnitude = bits & E::magnitude;
    max = larger_bits(max, magnitude);
    zeros += magnitude == 0 ? 1 : 0;
    below += static_cast<Bits>(magnitude - 1) < patterns_below_ ? 1 : 0;
    const typename E::Math value = E::value(bits);
    if constexpr (has_runs) {
      constexpr float divisor = E::dtype == Dtype::f8_e4m3fn ? 0x1p8f : 1.0f;
      if (stays_in_run(magnitude, this->runs[j])) return add_square(this->runs[j], value / divisor);
    }
    add_square(sums[j], static_cast<double>(value));
  }

  /// What is low is left out by adding it to a run that it cannot change.
  TARE_HD static bool stays_in_run(Bits magnitude, float run) {
    if constexpr (E::dtype != Dtype::bf16) {
      return true;
    } else {
      constexpr std::uint32_t low = bf16_low_pattern;
      const bool is_low = std::uint32_t{magnitude} - 1 < low - 1;  // 0 is not
      return is_low ? run >= bf16_low_run : magnitude < std::uint32_t{bf16_large_pattern};
    }
  }

  template <class Float>
  TARE_HD static void add_square(Float& sum, Float value) {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(Bits) < 8) {  // the square is exact: it makes no difference that it is fused
      sum = fma(value, value, sum);
      return;
    }
#endif
    sum += value * value;
  }
  TARE_HD static Bits larger_bits(Bits a, Bits b) {
    return a < b ? b : a;
  }

  Bits patterns_below_;  ///< how many there are below the threshold, from 1 on
};

/// The factors of a transform, read once; see kernels::Transform.
struct Factors {
  float inverse_scale = 1;
  float coefficient = 1;
  float limit = __builtin_inff();
};

/// Writes what is made of the elements, and shows the elements themselves to an observer.
template <class E, class To, class Then>
class Writer {
  using Bits = typename E::Bits;
  using Math = typename E::Math;
  using Out = typename To::Bits;
  static constexpr int count = Layout<E>::per_vector;

 public:
  static constexpr int loads_in_flight = 4;

  TARE_HD Writer(unsigned char* to, const Factors& factors, Then& then)
      : to_(to),
        factors_(factors),
        scales_(factors.inverse_scale != 1.0f),
        clips_norm_(factors.coefficient != 1.0f),
        clips_values_(is_finite(factors.limit)),
        keeps_(E::dtype == To::dtype && sizeof(Bits) >= 4 && !scales_ && !clips_norm_ && !clips_values_),
        only_scales_(is_finite(factors.inverse_scale) && !clips_norm_ && !clips_values_),
        then_(then) {}

  TARE_HD void full(const Vector& vector, std::uint32_t index) {
    then_.full(vector, index);
    alignas(16) Out out[count];
    if constexpr (E::dtype == To::dtype && sizeof(Bits) == 2) {
      if (only_scales_ && then_.last_is_finite()) {
        scale_pairs(vector, out);
        return store(out, to_ + static_cast<std::uint64_t>(index) * sizeof(Out));
      }
    }
    unrolled<count>([&](int j) { out[j] = made(element_of<Bits>(vector, j)); });
    store(out, to_ + static_cast<std::uint64_t>(index) * sizeof(Out));
  }
  TARE_HD void one(Bits bits, int place, std::uint32_t index) {
    then_.one(bits, place, index);
    const Out out = made(bits);
    memcpy(to_ + static_cast<std::uint64_t>(index) * sizeof(Out), &out, sizeof out);
  }

 private:
  /// Products of finite numbers: none is NaN.
  TARE_HD void scale_pairs(const Vector& vector, Out* out) const {
    unrolled<count / 2>([&](int i) {
      float lower;
      float upper;
      widen_pair<E>(vector.words[i], lower, upper);
      const std::uint32_t pair = narrow_pair<E>(lower * factors_.inverse_scale, upper * factors_.inverse_scale);
      out[2 * i] = static_cast<Out>(pair);
      out[2 * i + 1] = static_cast<Out>(pair >> 16);
    });
  }

  TARE_HD Out made(Bits bits) const {
    if constexpr (E::dtype == To::dtype && sizeof(Bits) >= 4) {
      if (keeps_) return bits;
    }
    Math value = E::value(bits);
    if (scales_ || E::dtype == Dtype::bf16) value = scaled(value);  // also makes bf16's NaN quiet
    if (clips_norm_) value = product(value, static_cast<Math>(factors_.coefficient));
    if (clips_values_) {  // comparisons with NaN are false: it stays
      const Math limit = static_cast<Math>(factors_.limit);
      if (value > limit) value = limit;
      if (value < -limit) value = -limit;
    }
    return bits_from<To>(value);
  }

  /// torch's builds keep a scale's NaN for f32, the value's for the others.
  TARE_HD Math scaled(Math value) const {
    if constexpr (E::dtype == Dtype::f32) {
      if (is_nan(factors_.inverse_scale)) return factors_.inverse_scale;
    }
    return product(value, sizeof(Math) == 8 ? static_cast<Math>(widened(factors_.inverse_scale))
                                            : static_cast<Math>(factors_.inverse_scale));
  }

  TARE_HD static void store(const Out* out, unsigned char* to) {
    constexpr std::size_t bytes = count * sizeof(Out);
    constexpr std::size_t step = bytes < vector_bytes ? bytes : vector_bytes;
    if (reinterpret_cast<std::uintptr_t>(to) % step == 0) {
      unrolled<bytes / step>([&](int i) { store_aligned<step>(to + i * step, out + i * (step / sizeof(Out))); });
    } else {
      unrolled<count>([&](int j) { store_aligned<sizeof(Out)>(to + j * sizeof(Out), out + j); });
    }
  }
  template <std::size_t Size>
  TARE_HD static void store_aligned(unsigned char* to, const Out* from) {
    memcpy(__builtin_assume_aligned(to, Size), __builtin_assume_aligned(from, Size), Size);
  }

  unsigned char* to_;
  Factors factors_;
  bool scales_;
  bool clips_norm_;
  bool clips_values_;
  bool keeps_;
  bool only_scales_;
  Then& then_;
};

// ---- the walk

/// Elements between the last multiple of 16 bytes and the stretch.
template <class E>
TARE_HD inline std::uint32_t skew_of(const Stretch& stretch) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stretch.from) % vector_bytes /
                                    sizeof(typename E::Bits));
}

/// Shows the vector that starts at element `first` (of a piece, perhaps before it) to the visitor, element by element.
template <class E, class Visitor>
TARE_HD inline void visit_ragged(const Stretch& stretch, std::int64_t first, Visitor& visitor) {
  using Bits = typename E::Bits;
  for (int j = 0; j < Layout<E>::per_vector; ++j) {
    const std::int64_t index = first + j;
    if (index < 0 || index >= stretch.count) continue;
    Bits bits;
    memcpy(&bits, __builtin_assume_aligned(stretch.from + index * static_cast<std::int64_t>(sizeof bits), sizeof bits),
           sizeof bits);
    visitor.one(bits, j, static_cast<std::uint32_t>(index));
  }
}

/// Lane `q` of the `Lanes` that share a stretch shows its vectors to the visitor, in the order of their addresses.
template <class E, int Lanes, class Visitor>
TARE_HD inline void visit_lane(const Stretch& stretch, int q, Visitor& visitor) {
  constexpr std::uint32_t per_vector = Layout<E>::per_vector;
  constexpr int in_flight = Visitor::loads_in_flight;
  const std::uint32_t skew = skew_of<E>(stretch);
  const std::uint32_t vectors = (stretch.count + skew + per_vector - 1) / per_vector;
  const std::uint32_t whole_end = (stretch.count + skew) / per_vector;  // of those that lie inside as a whole
  const auto first_of = [&](std::uint32_t v) { return static_cast<std::int64_t>(v) * per_vector - skew; };
  const unsigned char* base = stretch.from - skew * sizeof(typename E::Bits);

  std::uint32_t v = static_cast<std::uint32_t>(q);
  if (v == 0 && skew != 0 && vectors != 0) {
    visit_ragged<E>(stretch, first_of(0), visitor);
    v += Lanes;
  }
  for (; v + (in_flight - 1) * Lanes < whole_end; v += in_flight * Lanes) {
    Vector loaded[in_flight];
    unrolled<in_flight>([&](int u) {
      loaded[u] = load_vector(base + (v + static_cast<std::uint32_t>(u * Lanes)) * std::uint64_t{vector_bytes});
    });
    unrolled<in_flight>([&](int u) {
      visitor.full(loaded[u], static_cast<std::uint32_t>(first_of(v + static_cast<std::uint32_t>(u * Lanes))));
    });
  }
  for (; v < whole_end; v += Lanes) {
    visitor.full(load_vector(base + v * std::uint64_t{vector_bytes}), static_cast<std::uint32_t>(first_of(v)));
  }
  if (v < vectors) visit_ragged<E>(stretch, first_of(v), visitor);
}

}  // namespace tare::kernels::cuda
