// The same calculations element by element, in the plainest way, from the conversions of kernels/dtype.hpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/backend.hpp"
#include "kernels/cpu/instruction_set.hpp"
#include "kernels/dtype.hpp"
#include "kernels/launch.hpp"

namespace tare::kernels::test {

inline std::vector<cpu::InstructionSet> available_sets() {
  std::vector<cpu::InstructionSet> sets;
  for (const auto set : cpu::instruction_sets) {
    if (cpu::is_available(set)) sets.push_back(set);
  }
  return sets;
}

/// Elements of one dtype at an address that is a multiple of their size and, if `shift` is odd, of nothing more.
class Array {
 public:
  Array(Dtype dtype, std::uint64_t count, std::size_t shift = 0)
      : dtype_(dtype), count_(count), offset_(shift * size()), bytes_(offset_ + count * size() + 64) {}

  Tensor tensor() { return {bytes_.data() + offset_, count_, dtype_, 0}; }
  std::uint64_t count() const { return count_; }
  Dtype dtype() const { return dtype_; }
  std::size_t size() const { return static_cast<std::size_t>(size_of(dtype_)); }

  std::uint64_t get(std::uint64_t index) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes_.data() + offset_ + index * size(), size());  // little-endian, as all of tare's targets
    return bits;
  }
  void set(std::uint64_t index, std::uint64_t bits) {
    std::memcpy(bytes_.data() + offset_ + index * size(), &bits, size());
  }
  bool operator==(const Array& other) const { return bytes_ == other.bytes_; }

 private:
  Dtype dtype_;
  std::uint64_t count_;
  std::size_t offset_;
  std::vector<unsigned char> bytes_;  // with a margin behind, which no pass may touch
};

inline double decode(Dtype dtype, std::uint64_t bits) {
  switch (dtype) {
    case Dtype::f32:
      return float_from(static_cast<std::uint32_t>(bits));
    case Dtype::f64:
      return double_from(bits);
    case Dtype::f16:
      return widen<F16>(static_cast<std::uint16_t>(bits));
    case Dtype::bf16:
      return widen<Bf16>(static_cast<std::uint16_t>(bits));
    case Dtype::f8_e4m3fn:
      return widen<F8E4m3fn>(static_cast<std::uint8_t>(bits));
    case Dtype::f8_e5m2:
      return widen<F8E5m2>(static_cast<std::uint8_t>(bits));
  }
  return 0;
}

inline std::uint64_t encode(Dtype dtype, float value) {
  switch (dtype) {
    case Dtype::f64:
      return bits_of(static_cast<double>(value));
    case Dtype::f16:
      return narrow<F16>(value);
    case Dtype::bf16:
      return narrow<Bf16>(value);
    default:
      return bits_of(value);
  }
}

inline std::uint64_t encode(Dtype dtype, double value) {
  return dtype == Dtype::f64 ? bits_of(value) : encode(dtype, static_cast<float>(value));
}

/// One element through a Transform whose factors are not NaN.
template <class Math>
std::uint64_t transform(Math value, Dtype to, float inverse_scale, float coefficient, float limit) {
  if (inverse_scale != 1.0f) value = value * static_cast<Math>(inverse_scale);
  if (coefficient != 1.0f) value = value * static_cast<Math>(coefficient);
  if (std::isfinite(limit) && value > limit) value = limit;
  if (std::isfinite(limit) && value < -limit) value = -limit;
  return encode(to, value);
}

inline std::uint64_t transform(Dtype from, std::uint64_t bits, Dtype to, float inverse_scale, float coefficient,
                               float limit) {
  if (from == to && inverse_scale == 1.0f && coefficient == 1.0f && !std::isfinite(limit) && size_of(from) >= 4) {
    return bits;
  }
  if (from == Dtype::f64) return transform(decode(from, bits), to, inverse_scale, coefficient, limit);
  return transform(static_cast<float>(decode(from, bits)), to, inverse_scale, coefficient, limit);
}

/// Sums of pieces in the documented order: 256 chains, added as a tree.
inline double chained(const std::vector<double>& pieces) {
  double sums[256] = {};
  for (std::size_t i = 0; i < pieces.size(); ++i) sums[i % 256] += pieces[i];
  for (int half = 128; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

/// Neighbours first, then what they gave, and so on.
inline double with_neighbours(std::vector<double> sums) {
  while (sums.size() > 1) {
    if (sums.size() % 2 != 0) sums.push_back(0);
    for (std::size_t i = 0; i < sums.size() / 2; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
    sums.resize(sums.size() / 2);
  }
  return sums.front();
}

/// The squares of a run: 32 accumulators (for bf16 those of even positions first), added as a
/// tree. Those of 8 and 16 bits are floats, for e4m3 to 32, which is then taken off; for bf16 only for what is from
/// 2^-63 on and below 2^60; lower ones are left out where the sum in float is 2^-96 or more.
inline double sum_of_run(const Array& array, std::uint64_t begin, std::uint64_t end) {
  double sums[32] = {};
  float floats[32];
  const bool is_bf16 = array.dtype() == Dtype::bf16;
  const float start = array.dtype() == Dtype::f8_e4m3fn ? 32 : 0;
  std::fill_n(floats, 32, start);
  for (std::uint64_t i = begin; i < end; ++i) {
    const double value = std::fabs(decode(array.dtype(), array.get(i)));
    const std::uint64_t place = (i - begin) % 32;
    const std::uint64_t position = is_bf16 ? place % 2 * 16 + place / 2 : place;
    if (is_bf16 && value < 0x1p-63 && floats[position] >= 0x1p-96f) continue;
    const bool is_usual = value >= 0x1p-63 && value < 0x1p60;
    if (array.size() <= 2 && (is_usual || !is_bf16)) {
      floats[position] += static_cast<float>(value * value);
    } else {
      sums[position] += value * value;
    }
  }
  for (int i = 0; i < 32; ++i) sums[i] += static_cast<double>(floats[i]) - static_cast<double>(start);
  for (int half = 16; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

/// The statistics of an array, or of all that together, with sums in the documented order: runs of 512 elements,
/// neighbours first in pieces of 64 KiB, then the pieces; of 16 and 8 bits runs of 2,048 in pieces of 32 KiB.
class Reference {
 public:
  explicit Reference(double threshold) : threshold_(threshold) {}
  void add(const Array& array);
  Statistics statistics() const;

 private:
  void count(double value);

  double threshold_;
  Statistics result_;
  std::vector<double> pieces_;
};

inline void Reference::count(double value) {
  if (std::isnan(value) || value > result_.max_abs) {
    result_.max_abs = std::isnan(result_.max_abs) ? result_.max_abs : value;
  }
  if (value == 0) ++result_.zeros;
  if (value != 0 && value < threshold_) ++result_.below;
}

inline void Reference::add(const Array& array) {
  result_.count += array.count();
  for (std::uint64_t i = 0; i < array.count(); ++i) count(std::fabs(decode(array.dtype(), array.get(i))));
  const std::uint64_t most = (array.size() <= 2 ? 32768 : 65536) / array.size();
  const std::uint64_t run_length = array.size() <= 2 ? 2048 : 512;
  for (std::uint64_t begin = 0; begin < array.count(); begin += most) {
    const std::uint64_t end = std::min<std::uint64_t>(begin + most, array.count());
    std::vector<double> runs;
    for (std::uint64_t run = begin; run < end; run += run_length) {
      runs.push_back(sum_of_run(array, run, std::min<std::uint64_t>(run + run_length, end)));
    }
    pieces_.push_back(with_neighbours(std::move(runs)));
  }
}

inline Statistics Reference::statistics() const {
  Statistics result = result_;
  result.sum_of_squares = chained(pieces_);
  if (std::isnan(result.max_abs)) result.max_abs = result.sum_of_squares = std::numeric_limits<double>::quiet_NaN();
  return result;
}

inline Statistics statistics_of(const Array& array, double threshold) {
  Reference reference(threshold);
  reference.add(array);
  return reference.statistics();
}

/// Equal in every bit.
inline bool same(const Statistics& a, const Statistics& b) {
  return bits_of(a.max_abs) == bits_of(b.max_abs) && bits_of(a.sum_of_squares) == bits_of(b.sum_of_squares) &&
         a.count == b.count && a.zeros == b.zeros && a.below == b.below;
}

inline std::vector<Tensor> tensors_of(std::vector<Array>& arrays) {
  std::vector<Tensor> tensors;
  for (Array& array : arrays) tensors.push_back(array.tensor());
  return tensors;
}

/// What a pass finds in a list, on any backend.
struct Found {
  float found_inf = 0;
  Statistics total;
  std::vector<Statistics> each;

  explicit Found(std::size_t tensors) : each(tensors) {}
  Findings findings(double threshold) { return {&found_inf, &total, each.data(), threshold}; }
  /// In every bit.
  bool operator==(const Found& other) const {
    bool equal = found_inf == other.found_inf && same(total, other.total);
    for (std::size_t i = 0; i < each.size(); ++i) equal = equal && same(each[i], other.each[i]);
    return equal;
  }
};

/// What the CPU backend makes of a list in a pass(TensorList&, Found&).
template <class Pass>
Found on_the_cpu(const std::vector<Tensor>& tensors, const Pass& pass) {
  cpu::CpuBackend backend(2);
  const auto list = backend.make_list();
  Found found(tensors.size());
  list->assign(tensors.data(), tensors.size(), nullptr);
  pass(*list, found);
  return found;
}

/// Values as gradients have them, and with `specials` any bit pattern among them.
inline void fill(Array& array, std::mt19937_64& random, bool specials) {
  std::normal_distribution<float> normal(0.0f, 1.0f);
  const double unit = size_of(array.dtype()) == 1 ? 1.0 : 1e-3;
  for (std::uint64_t i = 0; i < array.count(); ++i) {
    const std::uint64_t dice = random() % 16;
    if (specials && dice < 4) {
      array.set(i, random());
    } else if (dice == 4) {
      array.set(i, random() % 2 << (8 * array.size() - 1));  // a zero of either sign
    } else if (array.dtype() == Dtype::f8_e4m3fn) {
      array.set(i, narrow<F8E4m3fn>(normal(random)));
    } else if (array.dtype() == Dtype::f8_e5m2) {
      array.set(i, narrow<F8E5m2>(normal(random)));
    } else {
      array.set(i, encode(array.dtype(), unit * static_cast<double>(normal(random))));
    }
  }
}

}  // namespace tare::kernels::test
