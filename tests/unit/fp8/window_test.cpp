// Histories of any length against the plainest way to keep one: an array that is shifted.
#include <algorithm>
#include <random>

#include "kernels/fp8/host_slots.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace tare::kernels::fp8;

TEST_CASE("a ring of any length gives the scales and the history of an array that is shifted") {
  std::mt19937 random(1);
  for (const std::uint32_t length : {1u, 2u, 3u, 31u, 32u, 33u, 34u, 64u, 65u, 1024u, 1025u, 1026u, 3000u}) {
    INFO("length " << length);
    Params params;
    params.transformer_engine.variant = TeVariant::fused;
    HostSlots slots(params, {Layout::transformer_engine, length}, std::vector<float>(3, 448.0f));
    std::vector<float> plain(length, 0.0f);
    float scale = 1;
    int wrong = 0;
    for (std::uint32_t step = 0; step < 2 * length + 50; ++step) {
      const float amax = step % 7 == 0 ? 0.0f : std::exp2(static_cast<float>(random() % 40) - 20.0f);
      plain[0] = amax;
      const float greatest = *std::max_element(plain.begin(), plain.end());
      if (greatest > 0) scale = 448.0f / greatest;
      std::rotate(plain.begin(), plain.begin() + 1, plain.end());
      plain[0] = 0;
      for (std::uint32_t slot = 0; slot < 3; ++slot) slots.arrays().amax[slot] = bits_of(amax);
      slots.step();
      wrong += slots.arrays().scale[2] != scale;
      if (step % 50 == 0 || step + 3 > length) wrong += slots.history(1) != plain;
    }
    CHECK(wrong == 0);
  }
}
