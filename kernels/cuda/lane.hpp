// What one lane does with its share of a run. It is read in vectors of 16 bytes, as many side by side as lanes share
// the run: a row. Rows are at multiples of their size: a run that starts in between is read from the row that holds its
// first element on, and what lies outside of it (before the head, behind the tail) is left alone, element by element.
// Lane q takes the vectors q, q + the number of lanes ..., several of them in flight before the first is looked at.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cuda/pairs.hpp"
#include "kernels/element.hpp"
#include "kernels/fold.hpp"
#include "kernels/simt.hpp"

namespace tare::kernels::cuda {

inline constexpr std::uint32_t vector_bytes = 16;

struct alignas(16) Vector {
  std::uint32_t words[4];
};

/// A run, or all of a piece, as a lane sees it.
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

  TARE_HD std::uint32_t greatest() const {
    std::uint32_t pair = words[0];
    unrolled<count>([&](int i) { pair = larger_pair(pair, words[i]); });
    return pair;
  }
};

/// The least magnitude of 16 bits, or of Pairs, that is no finite number's.
template <class E>
inline constexpr std::uint32_t first_infinite = E::dtype == Dtype::bf16 ? 0x7f80u : 0x7c00u;

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
  std::uint32_t is_settled = 0;  ///< bf16: no sum is changed by what is low any more. A bool would be in memory

  TARE_HD Runs() {
    for (float& run : runs) run = start;
  }
};

/// What a lane finds in a run: its positions' sums, and what is counted.
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

  TARE_HD void full(const Vector& vector, std::uint32_t) {
    if constexpr (has_runs) {
      if (this->below_limit != 0 && take_pairs(Pairs<E>(vector))) return;
      this->vector_max = pair_of(0x7fffu);
    }
    unrolled<sum_count>([&](int j) { take(element_of<Bits>(vector, j), j); });
    if constexpr (E::dtype == Dtype::bf16) note_whether_settled();
  }
  TARE_HD void one(Bits bits, int place, std::uint32_t) {
    // Not sums[place]: an index that is not known when compiling would put the sums into memory.
    unrolled<sum_count>([&](int j) {
      if (j == place) take(bits, j);
    });
  }

  TARE_HD void finish() {
    if constexpr (has_runs) {
      unrolled<sum_count>([&](int j) { add_float(j); });
      take_counts();
      const std::uint32_t greatest = larger_half(this->max_pair) >> Pairs<E>::shift;
      max = larger_bits(max, static_cast<Bits>(greatest));
    }
  }

  /// Whether the last full vector is known to have neither an infinity nor a NaN in it.
  TARE_HD bool last_is_finite() const {
    static_assert(has_runs);
    return !any_from(this->vector_max, first_infinite<E>);
  }

  double sums[sum_count];
  Bits max = 0;
  std::uint32_t zeros = 0;
  std::uint32_t below = 0;

 private:
  static constexpr bool has_runs = sizeof(Bits) <= 2;
  /// Most pairs that a counter sees in a run.
  static constexpr std::uint32_t counted_pairs = 4 * run_blocks(sizeof(Bits));
  static_assert(counted_pairs <= PairCounter::most_pairs);

  TARE_HD void add_float(int j) {
    const double run = static_cast<double>(this->runs[j]) - static_cast<double>(this->start);
    sums[j] += this->factor == 1.0f ? run : run * static_cast<double>(this->factor);
  }

  TARE_HD void take_counts() {
    unrolled<Runs<E>::counters>([&](int i) {
      const std::uint32_t zero = this->zero_pairs[i].take();
      zeros += zero;
      below += this->below_pairs[i].take() - zero;
    });
  }
  TARE_HD static std::uint32_t larger_half(std::uint32_t pair) { return larger_pair(pair, pair >> 16) & 0xffffu; }
  TARE_HD void note_whether_settled() {
    float least = this->runs[0];
    unrolled<sum_count>([&](int j) { least = this->runs[j] < least ? this->runs[j] : least; });
    this->is_settled = least >= bf16_low_run ? 1 : 0;
  }

  TARE_HD static bool has_low(const Pairs<E>& pairs) {
    bool found = false;
    unrolled<Pairs<E>::count>([&](int i) { found |= any_low(pairs.words[i], bf16_low_pattern); });
    return found;
  }

  /// A whole vector whose elements are all added in float, as stays_in_run says; false, and nothing taken, where one
  /// may not be.
  TARE_HD bool take_pairs(const Pairs<E>& pairs) {
    const std::uint32_t greatest = pairs.greatest();
    if constexpr (E::dtype == Dtype::bf16) {
      if (any_from(greatest, static_cast<std::uint32_t>(bf16_large_pattern))) return false;
      if (this->is_settled == 0 && has_low(pairs)) return false;
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
    if constexpr (E::dtype == Dtype::bf16) {
      if (this->is_settled == 0) note_whether_settled();
    }
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

/// Looks at nothing but what a Writer must know.
template <class E>
class Blind {
  static constexpr bool has_pairs = sizeof(typename E::Bits) == 2;

 public:
  TARE_HD void full(const Vector& vector, std::uint32_t) {
    if constexpr (has_pairs) greatest_ = Pairs<E>(vector).greatest();
  }
  TARE_HD void one(typename E::Bits, int, std::uint32_t) {}
  /// Whether the last full vector has neither an infinity nor a NaN in it.
  TARE_HD bool last_is_finite() const { return !any_from(greatest_, first_infinite<E>); }

 private:
  std::uint32_t greatest_ = 0;
};

/// Writes what is made of the elements, and shows the elements themselves to an observer.
template <class E, class To, class Then>
class Writer {
  using Bits = typename E::Bits;
  using Math = typename E::Math;
  using Out = typename To::Bits;
  static constexpr int count = Layout<E>::per_vector;

 public:
  static constexpr int loads_in_flight = E::dtype == Dtype::f32 && To::dtype == Dtype::f32 ? 8 : 4;

  TARE_HD Writer(unsigned char* to, const Factors& factors, Then& then)
      : to_(to),
        factors_(factors),
        scales_(factors.inverse_scale != 1.0f),
        clips_norm_(factors.coefficient != 1.0f),
        clips_values_(is_finite(factors.limit)),
        keeps_(E::dtype == To::dtype && sizeof(Bits) >= 4 && !scales_ && !clips_norm_ && !clips_values_),
        multiplies_finite_(!clips_values_ && is_finite(factors.inverse_scale) && is_finite(factors.coefficient) &&
                           factors.coefficient != 0),
        then_(then) {}

  TARE_HD void full(const Vector& vector, std::uint32_t index) {
    then_.full(vector, index);
    alignas(16) Out out[count];
    if (!multiplies(vector, out)) unrolled<count>([&](int j) { out[j] = made(element_of<Bits>(vector, j)); });
    store(out, to_ + static_cast<std::uint64_t>(index) * sizeof(Out));
  }
  TARE_HD void one(Bits bits, int place, std::uint32_t index) {
    then_.one(bits, place, index);
    const Out out = made(bits);
    memcpy(to_ + static_cast<std::uint64_t>(index) * sizeof(Out), &out, sizeof out);
  }

 private:
  /// A whole vector at once; false where one of its elements may ask for more than products: NaN does.
  TARE_HD bool multiplies(const Vector& vector, Out* out) const {
    if constexpr (E::dtype != To::dtype) {
      return false;
    } else if constexpr (sizeof(Bits) == 2) {
      if (!multiplies_finite_ || !then_.last_is_finite()) return false;
      unrolled<count / 2>([&](int i) {
        float lower;
        float upper;
        widen_pair<E>(vector.words[i], lower, upper);
        const std::uint32_t pair = narrow_pair<E>(multiplied(lower), multiplied(upper));
        out[2 * i] = static_cast<Out>(pair);
        out[2 * i + 1] = static_cast<Out>(pair >> 16);
      });
      return true;
    } else {
      if (clips_values_) return false;
      bool has_nan = false;
      unrolled<count>([&](int j) {
        const Math value = multiplied(E::value(element_of<Bits>(vector, j)));
        has_nan |= value != value;
        out[j] = E::bits(value);
      });
      return !has_nan;
    }
  }
  TARE_HD Math multiplied(Math value) const {
    return value * static_cast<Math>(factors_.inverse_scale) * static_cast<Math>(factors_.coefficient);
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
    constexpr int size = static_cast<int>(sizeof(Out));
    constexpr int step = count * size < static_cast<int>(vector_bytes) ? count * size : static_cast<int>(vector_bytes);
    if (reinterpret_cast<std::uintptr_t>(to) % step == 0) {
      unrolled<count * size / step>([&](int i) { store_aligned<step>(to + i * step, out + i * (step / size)); });
    } else {
      unrolled<count>([&](int j) { store_aligned<size>(to + j * size, out + j); });
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
  bool multiplies_finite_;  ///< nothing else is done, and no product of finite numbers is NaN
  Then& then_;
};

// ---- the walk

/// What lanes side by side read at once is at a multiple of this: what begins elsewhere would cost more transfers.
template <int Lanes>
inline constexpr std::uint32_t row_bytes = Lanes* vector_bytes < 128 ? Lanes* vector_bytes : 128;

/// Elements between the beginning of the row and the stretch.
template <class E, int Lanes = Layout<E>::lanes_per_block>
TARE_HD inline std::uint32_t skew_of(const Stretch& stretch) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stretch.from) % row_bytes<Lanes> /
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
  const std::uint32_t skew = skew_of<E, Lanes>(stretch);
  const std::uint32_t vectors = (stretch.count + skew + per_vector - 1) / per_vector;
  const std::uint32_t whole_begin = (skew + per_vector - 1) / per_vector;
  const std::uint32_t whole_end = (stretch.count + skew) / per_vector;  // of those that lie inside as a whole
  const auto first_of = [&](std::uint32_t v) { return static_cast<std::int64_t>(v) * per_vector - skew; };
  const unsigned char* base = stretch.from - skew * sizeof(typename E::Bits);

  std::uint32_t v = static_cast<std::uint32_t>(q);
  if (v < whole_begin && v < vectors) {
    visit_ragged<E>(stretch, first_of(v), visitor);
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

// ---- whole runs of narrow rows

/// Whether a piece is such that its lanes read it by visit_whole: two rows of 16 bits are as long as one of 32.
template <class E>
TARE_HD inline bool is_read_by_twos(const unsigned char* piece, std::uint32_t count) {
  constexpr std::size_t size = sizeof(typename E::Bits);
  return size == 2 && count == piece_elements(size) && reinterpret_cast<std::uintptr_t>(piece) % 128 == 0;
}

/// Blocks `first` and `first + 1` of a lane's run. Its group and the one beside it, whose run is beside its own, read
/// two blocks of the one and two of the other, side by side each, and exchange what is not theirs.
template <class E>
TARE_HD inline void load_by_twos(const Stretch& run, int lane, std::uint32_t first, Vector& own, Vector& next) {
  constexpr int lanes = Layout<E>::lanes_per_block;
  constexpr std::uint32_t row = lanes * vector_bytes;
  const unsigned char* at = run.from + first * row + static_cast<std::uint32_t>(lane % lanes) * vector_bytes;
#if defined(__CUDA_ARCH__)
  constexpr std::uint32_t run_bytes = run_elements(2) * 2;
  const bool is_second = lane / lanes % 2 != 0;
  if (is_second) at = at + row - run_bytes;
  own = load_vector(at);
  next = load_vector(at + run_bytes);
#else
  own = load_vector(at);
  next = load_vector(at + row);
#endif
}
template <class E>
TARE_HD inline void exchange_by_twos([[maybe_unused]] int lane, [[maybe_unused]] Vector& own,
                                     [[maybe_unused]] Vector& next) {
#if defined(__CUDA_ARCH__)
  constexpr int lanes = Layout<E>::lanes_per_block;
  const bool is_second = lane / lanes % 2 != 0;
  unrolled<4>([&](int i) {
    const std::uint32_t sent = is_second ? own.words[i] : next.words[i];
    const std::uint32_t got = __shfl_sync(0xffffffffu, sent, lane ^ lanes);
    (is_second ? own.words[i] : next.words[i]) = got;
  });
#endif
}

/// As visit_lane, for the whole warp at once. REQUIRES: is_read_by_twos of the piece whose runs the groups have.
template <class E, class Visitor>
TARE_HD inline void visit_whole(const Stretch& run, int lane, Visitor& visitor) {
  constexpr int in_flight = Visitor::loads_in_flight;
  const auto index_of = [&](std::uint32_t block) {
    return block * 32 + static_cast<std::uint32_t>(lane % Layout<E>::lanes_per_block * Layout<E>::per_vector);
  };
  for (std::uint32_t block = 0; block < run_blocks(sizeof(typename E::Bits)); block += in_flight) {
    Vector loaded[in_flight];
    unrolled<in_flight / 2>([&](int u) {
      load_by_twos<E>(run, lane, block + static_cast<std::uint32_t>(2 * u), loaded[2 * u], loaded[2 * u + 1]);
    });
    unrolled<in_flight / 2>([&](int u) { exchange_by_twos<E>(lane, loaded[2 * u], loaded[2 * u + 1]); });
    unrolled<in_flight>([&](int u) { visitor.full(loaded[u], index_of(block + static_cast<std::uint32_t>(u))); });
  }
}

}  // namespace tare::kernels::cuda
