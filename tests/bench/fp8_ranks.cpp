// Ways to sum gradients of many ranks in fp8, beside each other: what becomes 0, what is cut off, how far off the mean
// is, and what goes over the wire. Ranks are simulated; their gradients are those of a network that has been trained a
// while, each of samples of its own.
//
//   bench_fp8_ranks > tests/bench/results/DATE-fp8-ranks.txt
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "kernels/dtype.hpp"
#include "kernels/fp8/cast.hpp"

namespace {

using namespace tare;
using kernels::Tensor;
using Values = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

constexpr float largest = 448;  // of e4m3
constexpr double crowded = 1e-5;

// ---- a network: 32 inputs, two layers of 64, 10 classes

constexpr std::size_t widths[] = {32, 64, 64, 10};
constexpr std::size_t layers = 3;
constexpr std::size_t samples_of_rank = 4;

struct Sample {
  Values input;
  std::size_t label;
};

class Network {
 public:
  Network() {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      std::normal_distribution<float> start(0, 1 / std::sqrt(static_cast<float>(widths[layer])));
      Values& weights = weights_.emplace_back(widths[layer] * widths[layer + 1]);
      for (float& weight : weights) weight = start(random_);
    }
    for (Values& centre : centres_) {
      centre.resize(widths[0]);
      for (float& value : centre) value = normal_(random_);
    }
  }

  Sample sample() {
    const std::size_t label = random_() % 10;
    Sample made{centres_[label], label};
    for (float& value : made.input) value += 2 * normal_(random_);
    return made;
  }
  /// Of each layer, the mean over the samples.
  std::vector<Values> gradients(std::size_t samples) {
    std::vector<Values> sums;
    for (const Values& weights : weights_) sums.emplace_back(weights.size());
    for (std::size_t i = 0; i < samples; ++i) add_gradient(sample(), 1 / static_cast<float>(samples), sums);
    return sums;
  }
  void step(const std::vector<Values>& gradients, float rate) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      for (std::size_t i = 0; i < weights_[layer].size(); ++i) weights_[layer][i] -= rate * gradients[layer][i];
    }
  }

 private:
  void add_gradient(const Sample& of, float share, std::vector<Values>& sums) const {
    std::vector<Values> seen{of.input};
    for (std::size_t layer = 0; layer < layers; ++layer) seen.push_back(forward(layer, seen.back()));
    Values back = softmax(seen.back());
    back[of.label] -= 1;
    for (std::size_t layer = layers; layer-- > 0;) {
      Values before(widths[layer]);
      for (std::size_t o = 0; o < back.size(); ++o) {
        for (std::size_t i = 0; i < before.size(); ++i) {
          sums[layer][o * before.size() + i] += share * back[o] * seen[layer][i];
          before[i] += back[o] * weights_[layer][o * before.size() + i];
        }
      }
      for (std::size_t i = 0; i < before.size(); ++i) before[i] *= 1 - seen[layer][i] * seen[layer][i];
      back = before;
    }
  }
  Values forward(std::size_t layer, const Values& from) const {
    Values to(widths[layer + 1]);
    for (std::size_t o = 0; o < to.size(); ++o) {
      for (std::size_t i = 0; i < from.size(); ++i) to[o] += weights_[layer][o * from.size() + i] * from[i];
      if (layer + 1 < layers) to[o] = std::tanh(to[o]);
    }
    return to;
  }
  static Values softmax(Values values) {
    float sum = 0;
    for (float& value : values) sum += value = std::exp(value);
    for (float& value : values) value /= sum;
    return values;
  }

  std::mt19937 random_{1};
  std::normal_distribution<float> normal_;
  Values centres_[10];
  std::vector<Values> weights_;
};

// ---- sums of one layer's gradients, a row a rank

using Ranks = std::vector<Values>;

struct Summed {
  Values mean;
  std::uint64_t at_largest = 0;
};

Tensor tensor_of(Values& values) {
  return {values.data(), values.size(), Dtype::f32, 0};
}
Tensor tensor_of(Bytes& bytes) {
  return {bytes.data(), bytes.size(), Dtype::f8_e4m3fn, 0};
}

std::uint64_t round_to_fp8(Values& values, float factor) {
  Bytes narrow(values.size());
  const std::uint64_t at_largest =
      kernels::fp8::quantise(tensor_of(values), tensor_of(narrow), {factor, false, largest}).at_largest;
  kernels::fp8::dequantise(tensor_of(narrow), tensor_of(values), 1);
  return at_largest;
}

float greatest(const Ranks& ranks) {
  float amax = 0;
  for (const Values& rank : ranks) {
    for (const float value : rank) amax = std::max(amax, std::fabs(value));
  }
  return amax;
}

enum class Rounding { every_addition, once };

Summed sum_in_fp8(const Ranks& ranks, double mu, Rounding rounding) {
  const auto factor = static_cast<float>(static_cast<double>(largest) / static_cast<double>(greatest(ranks)) * mu);
  Summed summed{Values(ranks[0].size())};
  for (const Values& rank : ranks) {
    Values own = rank;
    round_to_fp8(own, factor);
    for (std::size_t i = 0; i < own.size(); ++i) summed.mean[i] += own[i];
    if (rounding == Rounding::every_addition) summed.at_largest = round_to_fp8(summed.mean, 1);
  }
  summed.at_largest = round_to_fp8(summed.mean, 1);
  for (float& value : summed.mean) value /= factor * static_cast<float>(ranks.size());
  return summed;
}

/// FP8-LM's mu when it has stopped halving: a growth takes a thousand steps.
double settled_mu(const Ranks& ranks, Rounding rounding) {
  double mu = 1;
  const auto values = static_cast<double>(ranks[0].size());
  while (static_cast<double>(sum_in_fp8(ranks, mu, rounding).at_largest) > crowded * values) mu /= 2;
  return mu;
}

Summed sum_in_bf16(const Ranks& ranks, double, Rounding) {
  const auto rounded = [](float value) { return float_from(static_cast<std::uint32_t>(narrow<Bf16>(value)) << 16); };
  Summed summed{Values(ranks[0].size())};
  for (const Values& rank : ranks) {
    for (std::size_t i = 0; i < rank.size(); ++i) summed.mean[i] = rounded(summed.mean[i] + rounded(rank[i]));
  }
  for (float& value : summed.mean) value /= static_cast<float>(ranks.size());
  return summed;
}

struct Way {
  const char* name;
  double bytes;  // of a value on the wire
  Rounding rounding;
  std::function<double(const Ranks&, Rounding)> mu;
  Summed (*sum)(const Ranks&, double mu, Rounding);
};

double one(const Ranks&, Rounding) {
  return 1;
}
double one_by_ranks(const Ranks& ranks, Rounding) {
  return 1 / static_cast<double>(ranks.size());
}
double one_by_root(const Ranks& ranks, Rounding) {
  return 1 / std::sqrt(static_cast<double>(ranks.size()));
}

const Way ways[] = {
    {"bf16, every addition rounded", 2, Rounding::every_addition, one, sum_in_bf16},
    {"fp8, pre-scaling (1 / N)", 1, Rounding::every_addition, one_by_ranks, sum_in_fp8},
    {"fp8, post-scaling (1)", 1, Rounding::every_addition, one, sum_in_fp8},
    {"fp8, MS-AMP (1 / sqrt N)", 1, Rounding::every_addition, one_by_root, sum_in_fp8},
    {"fp8, FP8-LM (mu)", 1, Rounding::every_addition, settled_mu, sum_in_fp8},
    {"two phases, 1 / sqrt N", 1, Rounding::once, one_by_root, sum_in_fp8},
    {"two phases, mu", 1, Rounding::once, settled_mu, sum_in_fp8},
};

struct Off {
  double squared_error = 0;
  double squared = 0;
  std::uint64_t became_zero = 0;
  std::uint64_t cut_off = 0;
  std::uint64_t values = 0;
};

void compare(const Way& way, const Ranks& ranks, Off& off) {
  const Summed summed = way.sum(ranks, way.mu(ranks, way.rounding), way.rounding);
  for (std::size_t i = 0; i < summed.mean.size(); ++i) {
    double mean = 0;
    for (const Values& rank : ranks) mean += static_cast<double>(rank[i]) / static_cast<double>(ranks.size());
    off.squared_error += std::pow(static_cast<double>(summed.mean[i]) - mean, 2);
    off.squared += mean * mean;
    off.became_zero += mean != 0 && summed.mean[i] == 0 ? 1 : 0;
  }
  off.cut_off += summed.at_largest;
  off.values += summed.mean.size();
}

}  // namespace

int main() {
  Network network;
  for (int step = 0; step < 300; ++step) network.step(network.gradients(32), 0.2f);
  std::printf("%-32s %6s %10s %10s %10s %12s\n", "", "ranks", "error", "became 0", "cut off", "bytes a value");
  for (const std::size_t count : {4U, 16U, 64U, 256U, 1024U}) {
    std::vector<Ranks> by_layer(layers);
    for (std::size_t rank = 0; rank < count; ++rank) {
      std::vector<Values> own = network.gradients(samples_of_rank);
      for (std::size_t layer = 0; layer < layers; ++layer) by_layer[layer].push_back(std::move(own[layer]));
    }
    for (const Way& way : ways) {
      Off off;
      for (const Ranks& ranks : by_layer) compare(way, ranks, off);
      const auto share = [&](std::uint64_t part) {
        return 100 * static_cast<double>(part) / static_cast<double>(off.values);
      };
      std::printf("%-32s %6zu %10.4f %8.3f %% %8.3f %% %12.3f\n", way.name, count,
                  std::sqrt(off.squared_error / off.squared), share(off.became_zero), share(off.cut_off),
                  way.bytes * 2 * static_cast<double>(count - 1) / static_cast<double>(count));
    }
  }
  return 0;
}
