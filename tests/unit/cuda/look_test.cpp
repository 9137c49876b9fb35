// A look at tensors, simulated, against the CPU's: the same bits of everything that is told.
#include "kernels/cuda/look.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cpu/summarise.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

constexpr Dtype dtypes[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2};

/// The pieces through blocks in random order, with counts that are to be cleared behind them.
std::vector<Summary> looked_at(const std::vector<Tensor>& tensors, double scale, std::mt19937_64& random,
                               std::vector<cuda::SummaryCounts>& counts) {
  std::vector<cuda::LookTensor> inputs;
  std::vector<cuda::LookPiece> work;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    inputs.push_back({{static_cast<const unsigned char*>(tensors[i].data), tensors[i].count,
                       static_cast<std::int32_t>(tensors[i].dtype)},
                      static_cast<std::uint32_t>(work.size())});
    for (std::uint32_t piece = 0; piece < cuda::summary_pieces(tensors[i].count); ++piece) work.push_back({i, piece});
  }
  std::vector<Moments> moments(work.size());
  std::vector<Summary> summaries(tensors.size());
  const cuda::LookArguments all = {inputs.data(),
                                   work.data(),
                                   static_cast<std::uint32_t>(tensors.size()),
                                   static_cast<std::uint32_t>(work.size()),
                                   Unscaling(scale),
                                   nullptr,
                                   moments.data(),
                                   counts.data(),
                                   summaries.data()};
  std::vector<std::uint32_t> order((work.size() + cuda::block_warps - 1) / cuda::block_warps);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  cuda::LookShared shared;
  for (const std::uint32_t block : order) {
    cuda::look_block(all, {block, static_cast<std::uint32_t>(order.size())}, shared);
  }
  for (std::uint32_t i = 0; i < tensors.size(); ++i) cuda::finish_look(all, i);
  return summaries;
}

/// Every pattern, extremes and nan often among them.
void fill_with_anything(Array& array, std::mt19937_64& random, bool is_tame) {
  for (std::uint64_t i = 0; i < array.count(); ++i) {
    if (is_tame || random() % 3 != 0) {
      const double value = std::ldexp(static_cast<double>(random() % 2001) - 1000, -static_cast<int>(random() % 30));
      array.set(i, encode(array.dtype(), value));
    } else {
      array.set(i, random());
    }
  }
}

bool same_bits(const Summary& a, const Summary& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

TEST_CASE("a GPU's look at tensors of any sizes, dtypes, values and scales tells what the CPU's does, to the bit") {
  std::mt19937_64 random(29);
  for (const double scale : {1.0, 65536.0, 0x1p-30, 3.0, 1e-300, 0x1p1023, 0x1p-1074}) {
    std::vector<Array> arrays;
    for (const Dtype dtype : dtypes) {
      for (const std::uint64_t count : {0u, 1u, 31u, 511u, 512u, 513u, cuda::summary_piece - 1, cuda::summary_piece,
                                        cuda::summary_piece + 1, 70001u}) {
        arrays.emplace_back(dtype, count, random() % 5);
        fill_with_anything(arrays.back(), random, count % 2 == 0);
      }
    }
    std::vector<Tensor> tensors;
    for (Array& array : arrays) tensors.push_back(array.tensor());
    std::vector<cuda::SummaryCounts> counts(tensors.size());
    for (int round = 0; round < 2; ++round) {
      const std::vector<Summary> summaries = looked_at(tensors, scale, random, counts);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        INFO(name_of(tensors[i].dtype) << ", " << tensors[i].count << " values, scale " << scale);
        CHECK(same_bits(summaries[i], cpu::summarise(tensors[i], scale)));
      }
    }
  }
}

TEST_CASE("a tensor of more pieces than there are chains is the same, too") {
  std::mt19937_64 random(30);
  Array array(Dtype::f16, 40 * cuda::summary_piece + 77);
  fill_with_anything(array, random, true);
  std::vector<cuda::SummaryCounts> counts(1);
  const std::vector<Summary> summaries = looked_at({array.tensor()}, 8, random, counts);
  CHECK(same_bits(summaries[0], cpu::summarise(array.tensor(), 8)));
  CHECK(summaries[0].count == array.count());
}

TEST_CASE("every instruction set of this CPU tells the same of tensors, to the bit") {
  std::mt19937_64 random(31);
  for (const double scale : {1.0, 1024.0, 3.0}) {
    for (const Dtype dtype : dtypes) {
      for (const std::uint64_t count : {0u, 1u, 33u, 512u, 5000u, 20'000u}) {
        Array array(dtype, count, random() % 5);
        fill_with_anything(array, random, count % 2 == 1);
        const Summary plain = cpu::summarise(array.tensor(), scale, cpu::InstructionSet::portable);
        for (const cpu::InstructionSet set : available_sets()) {
          INFO(cpu::name_of(set) << ", " << name_of(dtype) << ", " << count << " values, scale " << scale);
          CHECK(same_bits(cpu::summarise(array.tensor(), scale, set), plain));
        }
      }
    }
  }
}
