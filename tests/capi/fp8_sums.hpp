// Gradients that ranks sum in fp8, and what must come of it, reckoned from the formats alone: for ranks that are
// threads, and for processes.
#pragma once

#include <tare/tare.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace tare::test {

/// A binary float format by its bits. Codes without the sign order as the values do.
class Format {
 public:
  /// `greatest`: finite code. Beyond is the greatest where it `saturates`, else infinity.
  Format(int exponent_bits, int mantissa_bits, std::uint32_t greatest, bool saturates)
      : sign_bit_(1u << (exponent_bits + mantissa_bits)), greatest_(greatest), saturates_(saturates) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    for (std::uint32_t code = 0; code <= greatest; ++code) {
      const auto exponent = static_cast<int>(code >> mantissa_bits);
      const double mantissa = code & ((1u << mantissa_bits) - 1);
      const double whole = exponent == 0 ? mantissa : mantissa + std::ldexp(1.0, mantissa_bits);
      values_.push_back(std::ldexp(whole, std::max(exponent, 1) - bias - mantissa_bits));
    }
  }

  [[nodiscard]] double largest() const { return values_[greatest_]; }
  /// NaN for infinities, too.
  [[nodiscard]] double number(std::uint32_t code) const {
    const std::uint32_t magnitude = code & (sign_bit_ - 1);
    if (magnitude > greatest_) return NAN;
    return (code & sign_bit_) != 0 ? -values_[magnitude] : values_[magnitude];
  }
  /// The nearest, of two the one with an even code. `x` is no NaN.
  [[nodiscard]] std::uint32_t nearest(double x) const {
    const double magnitude = std::fabs(x);
    const std::uint32_t sign = std::signbit(x) ? sign_bit_ : 0;
    const double limit = largest() + (largest() - values_[greatest_ - 1]) / 2;
    if (magnitude >= (saturates_ ? largest() : limit)) return sign | (saturates_ ? greatest_ : greatest_ + 1);
    if (magnitude >= largest()) return sign | greatest_;
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    const auto high = static_cast<std::uint32_t>(above - values_.begin());
    const double down = magnitude - values_[high - 1];
    const double up = *above - magnitude;
    return sign | (down < up || (down == up && high % 2 == 1) ? high - 1 : high);
  }

 private:
  std::uint32_t sign_bit_;
  std::uint32_t greatest_;
  bool saturates_;
  std::vector<double> values_;
};

inline const Format e4m3{4, 3, 0x7e, true};
inline const Format e5m2{5, 2, 0x7b, true};
inline const Format half{5, 10, 0x7bff, false};
inline const Format brain{8, 7, 0x7f7f, false};

/// A tensor of gradients on one rank.
struct Gradient {
  int32_t dtype;
  std::vector<std::uint32_t> codes;  ///< of f32: its bits

  [[nodiscard]] float value(std::size_t i) const {
    if (dtype == TARE_F32) {
      float value;
      std::memcpy(&value, &codes[i], sizeof value);
      return value;
    }
    return static_cast<float>((dtype == TARE_F16 ? half : brain).number(codes[i]));
  }
  void set(std::size_t i, float value) {
    if (dtype == TARE_F32)
      std::memcpy(&codes[i], &value, sizeof value);
    else if (std::isnan(value))
      codes[i] = dtype == TARE_F16 ? 0x7e00 : 0x7fc0;
    else
      codes[i] = (dtype == TARE_F16 ? half : brain).nearest(value);
  }
};

struct SumSlot {
  const Format& format;
  double mu;
  std::uint64_t values = 0;
  std::uint64_t at_largest = 0;
};

/// What every rank must have of the gradients of all, which is also what the slot counts.
inline Gradient mean_of(const std::vector<Gradient>& ranks, SumSlot& slot) {
  float amax = 0;
  bool finite = true;
  for (const Gradient& rank : ranks) {
    for (std::size_t i = 0; i < rank.codes.size(); ++i) {
      finite = finite && std::isfinite(rank.value(i));
      amax = std::max(amax, std::fabs(rank.value(i)));
    }
  }
  Gradient mean = ranks[0];
  const double largest = slot.format.largest();
  const double wanted = largest / static_cast<double>(amax) * slot.mu;
  const auto up = amax > 0 ? static_cast<float>(std::clamp(wanted, 0x1p-126, 0x1p126)) : 1.0f;
  const auto down = static_cast<float>(1 / (static_cast<double>(up) * static_cast<double>(ranks.size())));
  for (std::size_t i = 0; i < mean.codes.size(); ++i) {
    float sum = 0;
    for (const Gradient& rank : ranks) {
      const float scaled = rank.value(i) * up;
      if (finite) sum += static_cast<float>(slot.format.number(slot.format.nearest(static_cast<double>(scaled))));
    }
    const auto narrow = static_cast<float>(slot.format.number(slot.format.nearest(static_cast<double>(sum))));
    mean.set(i, finite ? narrow * down : NAN);
    if (finite && std::fabs(static_cast<double>(sum)) >= largest) ++slot.at_largest;
  }
  if (finite) slot.values += mean.codes.size();
  return mean;
}

/// fp8_lm's rule.
inline void update_mu(SumSlot& slot, double growth, double threshold) {
  if (slot.values == 0) return;
  const bool crowded = static_cast<double>(slot.at_largest) > threshold * static_cast<double>(slot.values);
  slot.mu = slot.mu * (crowded ? 0.5 : growth);
  slot.values = 0;
  slot.at_largest = 0;
}

inline constexpr std::size_t tensors_of_step = 4;

/// A step's gradients of one rank: the same for whoever asks. Tensors are smaller, larger and no multiple of a share.
inline std::vector<Gradient> gradients_of(std::size_t step, std::size_t rank) {
  constexpr int32_t dtypes[tensors_of_step] = {TARE_F32, TARE_F16, TARE_BF16, TARE_F32};
  constexpr std::size_t counts[tensors_of_step] = {1000, 37, 4500, 1};
  std::mt19937_64 random(step * 1000 + rank);
  std::normal_distribution<float> normal;
  std::vector<Gradient> all;
  for (std::size_t k = 0; k < tensors_of_step; ++k) {
    Gradient& gradient = all.emplace_back(Gradient{dtypes[k], std::vector<std::uint32_t>(counts[k])});
    const int exponent = static_cast<int>(k * 7 + step % 5) - 16;
    const bool is_zero = step % 11 == k;
    for (std::size_t i = 0; i < counts[k]; ++i) {
      const float tail = random() % 50 == 0 ? 8.0f : 1.0f;
      gradient.set(i, is_zero ? 0.0f : std::ldexp(normal(random) * tail, exponent));
    }
    if (random() % 60 == 0)
      gradient.set(random() % counts[k], random() % 2 == 0 ? NAN : std::numeric_limits<float>::infinity());
  }
  return all;
}

/// The values as they lie in memory, narrow ones in 16 bits.
class InMemory {
 public:
  explicit InMemory(const std::vector<Gradient>& gradients) {
    for (const Gradient& gradient : gradients) {
      std::vector<unsigned char>& bytes = bytes_.emplace_back(gradient.codes.size() * size(gradient));
      for (std::size_t i = 0; i < gradient.codes.size(); ++i) {
        std::memcpy(bytes.data() + i * size(gradient), &gradient.codes[i], size(gradient));
      }
    }
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      tensors_.push_back({bytes_[k].data(), gradients[k].codes.size(), gradients[k].dtype, 0});
    }
  }
  [[nodiscard]] const std::vector<tare_tensor>& tensors() const { return tensors_; }
  /// Where NaN is NaN, whatever its bits.
  [[nodiscard]] bool is(const std::vector<Gradient>& expected) const {
    for (std::size_t k = 0; k < expected.size(); ++k) {
      Gradient own = expected[k];
      for (std::size_t i = 0; i < own.codes.size(); ++i) {
        own.codes[i] = 0;
        std::memcpy(&own.codes[i], bytes_[k].data() + i * size(own), size(own));
        if (own.codes[i] != expected[k].codes[i] && !(std::isnan(own.value(i)) && std::isnan(expected[k].value(i)))) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  static std::size_t size(const Gradient& gradient) { return gradient.dtype == TARE_F32 ? 4 : 2; }
  std::vector<std::vector<unsigned char>> bytes_;
  std::vector<tare_tensor> tensors_;
};

/// Slots of gradients: three, of which the last has two tensors.
class SumSlots {
 public:
  static constexpr std::uint32_t slots_of[tensors_of_step] = {0, 1, 2, 2};

  explicit SumSlots(const std::string& policy) : follows_(policy == "fp8_lm") {
    const std::string config = R"({"slots":3,"format":["e4m3","e5m2","e4m3"],"policy":")" + policy + "\"" +
                               (follows_ ? R"(,"growth_steps":20,"threshold":0.002})" : "}");
    if (tare_fp8_create(&handle_, config.c_str(), nullptr) != TARE_OK) throw std::runtime_error("no slots: " + config);
  }
  ~SumSlots() { tare_fp8_destroy(handle_); }
  SumSlots(const SumSlots&) = delete;
  SumSlots& operator=(const SumSlots&) = delete;
  [[nodiscard]] tare_fp8* get() const { return handle_; }

  int32_t all_reduce(const InMemory& values, tare_error* error = nullptr) const {
    return tare_fp8_all_reduce(handle_, values.tensors().data(), slots_of, values.tensors().size(), nullptr, nullptr,
                               error);
  }

  /// Of slots that go on where others stood, which may have been on another number of ranks.
  void expect_as(const SumSlots& other, std::size_t ranks) {
    expected_.clear();
    for (const SumSlot& slot : other.expected_) {
      expected_.push_back({slot.format, follows_ ? slot.mu : 1 / std::sqrt(static_cast<double>(ranks))});
    }
  }

  /// A step beside what is reckoned of all ranks' gradients; whether it came out the same.
  bool step(std::size_t number, std::size_t rank, std::size_t ranks) {
    if (expected_.empty()) {
      const double fixed = 1 / std::sqrt(static_cast<double>(ranks));
      for (const Format* format : {&e4m3, &e5m2, &e4m3}) expected_.push_back({*format, follows_ ? 1.0 : fixed});
    }
    std::vector<std::vector<Gradient>> of_rank;
    for (std::size_t i = 0; i < ranks; ++i) of_rank.push_back(gradients_of(number, i));
    const InMemory own(of_rank[rank]);
    std::vector<Gradient> means;
    for (std::size_t k = 0; k < tensors_of_step; ++k) {
      std::vector<Gradient> all;
      for (const auto& gradients : of_rank) all.push_back(gradients[k]);
      means.push_back(mean_of(all, expected_[slots_of[k]]));
    }
    if (all_reduce(own) != TARE_OK || tare_fp8_update(handle_, nullptr, nullptr) != TARE_OK) return false;
    for (SumSlot& slot : expected_) {
      if (!follows_) continue;
      update_mu(slot, std::exp2(1.0 / 20), 0.002);
      least_mu = std::min(least_mu, slot.mu);
      greatest_mu = std::max(greatest_mu, slot.mu);
    }
    return own.is(means);
  }

  double least_mu = 1;
  double greatest_mu = 0;

 private:
  bool follows_;
  std::vector<SumSlot> expected_;
  tare_fp8* handle_ = nullptr;
};

}  // namespace tare::test
