// FP8 slots, and random steps that ranks of them make together: for ranks that are threads, and for processes.
#pragma once

#include <tare/tare.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace tare::test {

inline constexpr std::size_t values_of_slot = 4;
using SlotValues = std::array<float, values_of_slot>;
/// Of each slot.
using RankValues = std::array<SlotValues, 3>;

/// All that slots are.
inline std::string state_of(const tare_fp8* slots) {
  tare_state* state = nullptr;
  tare_text* text = nullptr;
  tare_fp8_save(&state, slots, nullptr, nullptr);
  tare_state_to_json(&text, state, nullptr);
  std::string copy = tare_text_data(text);
  tare_text_destroy(text);
  tare_state_destroy(state);
  return copy;
}

class SlotsOfRank {
 public:
  explicit SlotsOfRank(const std::string& policy) {
    const std::string config = R"({"slots":["input","weight","grad"],"format":["e4m3","e4m3","e5m2"],)" + policy + "}";
    if (tare_fp8_create(&handle_, config.c_str(), nullptr) != TARE_OK) throw std::runtime_error("no slots: " + config);
  }
  ~SlotsOfRank() { tare_fp8_destroy(handle_); }
  SlotsOfRank(const SlotsOfRank&) = delete;
  SlotsOfRank& operator=(const SlotsOfRank&) = delete;

  [[nodiscard]] tare_fp8* get() const { return handle_; }

  void look_at(const RankValues& values) {
    for (std::uint32_t slot = 0; slot < values.size(); ++slot) {
      SlotValues copy = values[slot];
      const tare_tensor tensor{copy.data(), copy.size(), TARE_F32, 0};
      tare_fp8_observe(handle_, &tensor, &slot, 1, nullptr, nullptr);
    }
  }
  int32_t update(tare_error* error = nullptr) { return tare_fp8_update(handle_, nullptr, error); }

  [[nodiscard]] std::string told() const { return state_of(handle_); }

 private:
  tare_fp8* handle_ = nullptr;
};

/// The same for whoever asks, in order: of all ranks, mostly small, now and then zero, huge or not finite.
class RandomValues {
 public:
  std::vector<RankValues> next(std::size_t ranks) {
    std::vector<RankValues> all(ranks);
    for (RankValues& rank : all) {
      for (SlotValues& slot : rank) {
        const int exponent = static_cast<int>(random_() % 24) - 16;
        for (float& value : slot) value = std::ldexp(static_cast<float>(random_() % 2001) - 1000, exponent);
        if (random_() % 10 == 0) slot = {};
        if (random_() % 200 == 0) slot[1] = random_() % 2 == 0 ? NAN : std::numeric_limits<float>::infinity();
      }
    }
    return all;
  }

 private:
  std::mt19937 random_{31};
};

inline constexpr const char* fp8_policies[] = {
    R"("policy":"transformer_engine","amax_history_len":5)",
    R"("policy":"transformer_engine","variant":"unfused","amax_history_len":1)",
    R"("policy":"te_current")",
    R"("policy":"msamp","window_size":3)",
    R"("policy":"flax_fp8","amax_history_length":5)",
    R"("policy":"keras_fp8","amax_history_length":5)",
    R"("policy":"fp8_lm","threshold":0.2)",
};

}  // namespace tare::test
