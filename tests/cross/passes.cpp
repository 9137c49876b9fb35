// One pass over a piece, as often as told: run twice under an emulator that counts instructions, the difference is what
// one pass costs.
//
//   cross_passes SET PASS DTYPE TIMES    SET: portable, neon, sve256 ...   PASS: observe, unscale, or write (to bf16)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/cpu/instruction_set.hpp"

namespace {

using namespace tare::kernels;

constexpr std::uint32_t elements = 8192;

/// Small finite values of any dtype: every byte is 0x2b.
std::vector<unsigned char> values() {
  return std::vector<unsigned char>(elements * sizeof(double), 0x2b);
}

cpu::InstructionSet set_named(std::string_view name) {
  for (const cpu::InstructionSet set : cpu::instruction_sets) {
    if (cpu::is_available(set) && name == cpu::name_of(set)) return set;
  }
  std::fprintf(stderr, "there is no %.*s here\n", static_cast<int>(name.size()), name.data());
  std::exit(77);
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  const cpu::PieceTable& pieces = cpu::pieces_of(set_named(words[1]));
  const std::string_view pass = words[2];
  const int dtype = std::atoi(words[3]);
  constexpr int bf16 = 4;
  cpu::Recipe recipe = {};
  recipe.inverse_scale = 0.5F;
  recipe.coefficient = 1;
  recipe.limit = __builtin_inff();
  recipe.scales = recipe.factors_are_finite = recipe.only_scales = true;
  for (auto& pattern : recipe.threshold_pattern) pattern = 2;
  std::vector<unsigned char> in = values();
  std::vector<unsigned char> out = values();
  cpu::Found found = {};
  for (int i = std::atoi(words[4]); i > 0; --i) {
    if (pass == "observe") pieces.observe[dtype](in.data(), nullptr, elements, recipe, found);
    if (pass == "unscale") pieces.write[dtype][dtype](in.data(), in.data(), elements, recipe, found);
    if (pass == "write") pieces.write[dtype][bf16](in.data(), out.data(), elements, recipe, found);
  }
  std::printf("%u elements\n", elements);
}
