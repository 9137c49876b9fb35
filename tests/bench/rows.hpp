// Rows of a benchmark's table. What is compared takes turns, so that a machine whose speed drifts still gives a steady
// ratio; medians, with the quartiles; "missed" where a row has a target and does not reach it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace tare::bench {

double seconds_of(auto&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Of values that are there; sorts them.
struct Spread {
  double low, median, high;
  explicit Spread(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    low = values[values.size() / 4];
    median = values[values.size() / 2];
    high = values[values.size() - 1 - values.size() / 4];
  }
};

/// A reference and a candidate, one after the other.
struct Pair {
  double ratio;     ///< above 1 the candidate is faster
  double seconds;   ///< of the candidate
  double slowdown;  ///< of arithmetic beside it: 1 where nobody else uses the cores
};

inline Pair measure_pair(auto&& reference, auto&& candidate, auto&& slowdown) {
  const double slow_before = slowdown();
  const double before = seconds_of(reference);
  const double time = seconds_of(candidate);
  const double after = seconds_of(reference);
  return {(before + after) / 2 / time, time, std::max(slow_before, slowdown())};
}

inline void print_pairs(const char* what, const std::vector<Pair>& pairs, double bytes, double wanted) {
  std::vector<double> ratios, times;
  for (const Pair& pair : pairs) {
    ratios.push_back(pair.ratio);
    times.push_back(pair.seconds);
  }
  const Spread time(times);
  const Spread ratio(ratios);
  std::printf("%-52s %9.3f ms %6.1f GB/s %7.3f times as fast (%.3f to %.3f)", what, time.median * 1e3,
              bytes / time.median / 1e9, ratio.median, ratio.low, ratio.high);
  if (wanted > 0) std::printf("  wanted %g%s", wanted, ratio.median < wanted ? ": missed" : "");
}

/// Ratios of the reference's time to the candidate's. `wanted` is the least that will do, 0 where nothing is asked for.
/// `slowdown` tells how much longer arithmetic takes than it ever did: a core that others use, too, calculates at half
/// its speed beside memory that is as fast as ever, so that pairs go on until so many were undisturbed, or until forty
/// times as many have been tried. All are told of, and those that were undisturbed.
inline void compare(const char* what, std::size_t pairs, double bytes, double wanted, auto&& reference,
                    auto&& candidate, auto&& slowdown) {
  constexpr double disturbed = 1.15;
  std::vector<Pair> all, undisturbed;
  seconds_of(reference);
  seconds_of(candidate);
  while (all.size() < pairs || (undisturbed.size() < pairs && all.size() < 40 * pairs)) {
    all.push_back(measure_pair(reference, candidate, slowdown));
    if (all.back().slowdown < disturbed) undisturbed.push_back(all.back());
  }
  print_pairs(what, all, bytes, wanted);
  std::printf("  %zu pairs\n", all.size());
  if (undisturbed.empty() || undisturbed.size() == all.size()) return;
  print_pairs("  undisturbed", undisturbed, bytes, wanted);
  std::printf("  %zu pairs\n", undisturbed.size());
}

/// Where arithmetic hardly matters.
inline void compare(const char* what, std::size_t pairs, double bytes, double wanted, auto&& reference,
                    auto&& candidate) {
  compare(what, pairs, bytes, wanted, reference, candidate, [] { return 1.0; });
}

/// The time of one of `repeats` calls; `most` is the longest that will do, 0 where nothing is asked for. `bytes` that
/// it works on, 0 where that says nothing.
inline void measure(const char* what, std::size_t runs, std::size_t repeats, double bytes, double most, auto&& work) {
  std::vector<double> times;
  for (std::size_t i = 0; i <= runs; ++i) {
    const double time = seconds_of([&] {
      for (std::size_t j = 0; j < repeats; ++j) work();
    });
    if (i > 0) times.push_back(time / static_cast<double>(repeats));
  }
  const Spread time(times);
  std::printf("%-52s %9.6f ms", what, time.median * 1e3);
  if (bytes > 0) std::printf(" %6.1f GB/s", bytes / time.median / 1e9);
  std::printf(" (%.6f to %.6f)", time.low * 1e3, time.high * 1e3);
  if (most > 0) std::printf("  wanted %g%s", most * 1e3, time.median > most ? ": missed" : "");
  std::printf("\n");
}

}  // namespace tare::bench
