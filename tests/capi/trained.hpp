// A scaler with a list, and random steps that ranks of it make together: for ranks that are threads, and for processes.
#pragma once

#include <tare/tare.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace tare::test {

using nlohmann::json;

inline constexpr std::size_t elements = 5;
inline constexpr auto infinity = std::numeric_limits<float>::infinity();

/// A scaler with a list of two tensors for each of `parts`, and where they are written.
struct Trained {
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  std::vector<float> values;
  std::vector<double> wide;
  std::vector<float> written;
  std::vector<double> written_wide;

  Trained(const char* config, std::size_t parts)
      : values(parts * elements), wide(parts), written(parts * elements), written_wide(parts) {
    const std::vector<tare_tensor> list = tensors(values, wide);
    if (tare_scaler_create(&scaler, config, nullptr) != TARE_OK ||
        tare_grads_create(&grads, scaler, list.data(), list.size(), nullptr) != TARE_OK) {
      throw std::runtime_error(std::string("no scaler of ") + config);
    }
  }
  ~Trained() {
    tare_grads_destroy(grads);
    tare_scaler_destroy(scaler);
  }
  Trained(const Trained&) = delete;
  Trained& operator=(const Trained&) = delete;

  static std::vector<tare_tensor> tensors(std::vector<float>& narrow, std::vector<double>& doubles) {
    return {{narrow.data(), narrow.size(), TARE_F32, 0}, {doubles.data(), doubles.size(), TARE_F64, 0}};
  }

  int32_t write(const char* options) {
    const std::vector<tare_tensor> outputs = tensors(written, written_wide);
    return tare_grads_write(grads, outputs.data(), outputs.size(), options, nullptr, nullptr);
  }

  template <class T>
  T shown(int32_t which) const {
    const void* pointer = nullptr;
    tare_grads_pointer(&pointer, grads, which, nullptr);
    return *static_cast<const T*>(pointer);
  }
  std::string text(int32_t (*tell)(tare_text**, const tare_scaler*, tare_stream, tare_error*)) const {
    tare_text* told = nullptr;
    tell(&told, scaler, nullptr, nullptr);
    std::string copy = tare_text_data(told);
    tare_text_destroy(told);
    return copy;
  }
  /// All that the ranks have in common.
  std::string told() const {
    tare_text* text_of_list = nullptr;
    tare_grads_statistics(&text_of_list, grads, nullptr, nullptr);
    json list = json::parse(tare_text_data(text_of_list));
    tare_text_destroy(text_of_list);
    list.erase("tensors");
    const void* noop = nullptr;
    tare_scaler_pointer(&noop, scaler, TARE_POINTER_NOOP, nullptr);
    return text(tare_scaler_statistics) + list.dump() + std::to_string(*static_cast<const int32_t*>(noop)) +
           std::to_string(shown<int32_t>(TARE_POINTER_NOOP)) + json(shown<float>(TARE_POINTER_MULTIPLIER)).dump() +
           json(shown<float>(TARE_POINTER_FOUND_INF)).dump();
  }
};

/// What all ranks do in a step, and the gradients of each. Sums of squares are whole numbers: exact in any order.
struct Step {
  int way;
  std::vector<bool> reported;
  std::vector<std::array<float, elements>> values;
  std::vector<double> wide;

  explicit Step(std::size_t ranks) : way(0), reported(ranks), values(ranks), wide(ranks) {}
};

inline std::vector<Step> random_steps(std::size_t count, std::size_t ranks) {
  std::mt19937 random(30);
  const std::size_t odds = 13 * ranks;  // of one rank: a step of any number of them overflows as often
  std::vector<Step> steps(count, Step(ranks));
  for (Step& step : steps) {
    step.way = static_cast<int>(random() % 4);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      step.reported[rank] = random() % odds == 0;
      for (float& value : step.values[rank]) value = static_cast<float>(random() % 17) - 8;
      step.wide[rank] = std::ldexp(1.0, static_cast<int>(random() % 20));
      if (random() % odds == 0) step.values[rank][random() % elements] = random() % 2 == 0 ? infinity : NAN;
    }
  }
  return steps;
}

inline void fill(Trained& one, const Step& step, std::size_t first, std::size_t parts) {
  for (std::size_t part = 0; part < parts; ++part) {
    std::copy_n(step.values[first + part].data(), elements, one.values.data() + part * elements);
    one.wide[part] = step.wide[first + part];
  }
}

/// The step, and what was to be seen before and after the update.
inline std::string make(Trained& one, const Step& step, bool reported) {
  std::string before;
  if (step.way == 0) {
    tare_grads_unscale_and_update(one.grads, nullptr, nullptr);
  } else {
    if (step.way == 1) tare_grads_observe(one.grads, nullptr, nullptr);
    if (step.way == 2) one.write(R"({"clip_norm":0.5})");
    if (step.way == 3) {
      const std::vector<tare_tensor> list = Trained::tensors(one.values, one.wide);
      tare_scaler_unscale(one.scaler, list.data(), list.size(), nullptr, nullptr);
      tare_scaler_report_overflow(one.scaler, reported ? 1 : 0, nullptr, nullptr);
    }
    before = one.told();
    tare_scaler_update(one.scaler, nullptr, nullptr);
  }
  return before + one.told();
}

inline bool same_bits(const float* one, const float* other, std::size_t count) {
  return std::memcmp(one, other, count * sizeof *one) == 0;
}

}  // namespace tare::test
