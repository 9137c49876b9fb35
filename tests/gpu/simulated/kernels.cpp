// The kernels as functions of the host.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/dequantise.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/look.hpp"
#include "kernels/cuda/matrix_amax.hpp"
#include "kernels/cuda/matrix_dequantise.hpp"
#include "kernels/cuda/matrix_tile.hpp"
#include "kernels/cuda/rank_numbers.hpp"
#include "kernels/cuda/rank_sums.hpp"
#include "kernels/cuda/small_kernels.hpp"
#include "kernels/cuda/torn.hpp"
#include "tests/gpu/simulated/machine.hpp"

namespace tare::kernels::cuda {
namespace {

struct SimulatedKernel {
  void (*run)(const void* argument, unsigned blocks, unsigned threads);
  std::size_t argument_size;
};

template <class Body>
void each_block(unsigned blocks, const Body& body) {
  static thread_local std::mt19937 random(1);
  std::vector<std::uint32_t> order(blocks);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  for (const std::uint32_t index : order) body(Block{index, blocks});
}

template <class Items>
void run_pass(const void* argument, unsigned blocks, unsigned) {
  each_block(blocks, [&](const Block& block) {
    FoldShared shared;
    run_block<Items>(*static_cast<const PassArguments*>(argument), block, shared);
  });
}

template <class Items>
constexpr SimulatedKernel pass_of{run_pass<Items>, sizeof(PassArguments)};

constexpr SimulatedKernel fold{[](const void* argument, unsigned, unsigned) {
                                 const auto& all = *static_cast<const EachArguments*>(argument);
                                 for (std::uint64_t i = 0; i < all.count; ++i)
                                   fold_tensor(all.sums, all.counts, all.tensors[i], all.each[i]);
                               },
                               sizeof(EachArguments)};

constexpr SimulatedKernel bind{[](const void* argument, unsigned blocks, unsigned threads) {
                                 const auto& all = *static_cast<const BindArguments*>(argument);
                                 for (std::uint32_t i = 0; i < std::min(all.count, blocks * threads); ++i)
                                   all.to[i] = all.bindings[i];
                               },
                               sizeof(BindArguments)};

constexpr SimulatedKernel obeying{
    [](const void* argument, unsigned, unsigned) { obey(*static_cast<const CommandArguments*>(argument)); },
    sizeof(CommandArguments)};

constexpr SimulatedKernel step{[](const void* argument, unsigned, unsigned) {
                                 const auto& slots = *static_cast<const fp8::Slots*>(argument);
                                 for (std::uint32_t first = 0; first < slots.count; first += 4)
                                   fp8::step_slots(slots, first);
                               },
                               sizeof(fp8::Slots)};

constexpr SimulatedKernel quantising{[](const void* argument, unsigned blocks, unsigned) {
                                       each_block(blocks, [&](const Block& block) {
                                         CastShared shared;
                                         quantise_block(*static_cast<const QuantiseArguments*>(argument), block,
                                                        shared);
                                       });
                                     },
                                     sizeof(QuantiseArguments)};

constexpr SimulatedKernel dequantising{[](const void* argument, unsigned blocks, unsigned) {
                                         each_block(blocks, [&](const Block& block) {
                                           CastShared shared;
                                           dequantise_block(*static_cast<const DequantiseArguments*>(argument), block,
                                                            shared);
                                         });
                                       },
                                       sizeof(DequantiseArguments)};

constexpr SimulatedKernel telling_ranks{[](const void* argument, unsigned, unsigned) {
                                          const auto& all = *static_cast<const RankNumbersArguments*>(argument);
                                          if (all.step == RankStep::tell_list) return tell_list(all);
                                          for (std::uint32_t i = 0; i < count_of(all); ++i) do_rank_step(all, i);
                                        },
                                        sizeof(RankNumbersArguments)};

constexpr SimulatedKernel adding_ranks{[](const void* argument, unsigned blocks, unsigned) {
                                         each_block(blocks, [&](const Block& block) {
                                           CastShared shared;
                                           add_ranks_block(*static_cast<const RankSumsArguments*>(argument), block,
                                                           shared);
                                         });
                                       },
                                       sizeof(RankSumsArguments)};

constexpr SimulatedKernel looking{[](const void* argument, unsigned blocks, unsigned) {
                                    each_block(blocks, [&](const Block& block) {
                                      LookShared shared;
                                      look_block(*static_cast<const LookArguments*>(argument), block, shared);
                                    });
                                  },
                                  sizeof(LookArguments)};

constexpr SimulatedKernel finishing{[](const void* argument, unsigned, unsigned) {
                                      const auto& all = *static_cast<const LookArguments*>(argument);
                                      for (std::uint32_t i = 0; i < all.tensor_count; ++i) finish_look(all, i);
                                    },
                                    sizeof(LookArguments)};

constexpr SimulatedKernel torn{[](const void* argument, unsigned, unsigned) {
                                 const auto& all = *static_cast<const TornArguments*>(argument);
                                 for (std::uint32_t i = 0; i < all.piece_count; ++i) look_at_torn(all, i);
                               },
                               sizeof(TornArguments)};

constexpr SimulatedKernel finishing_torn{[](const void* argument, unsigned, unsigned) {
                                           const auto& all = *static_cast<const TornArguments*>(argument);
                                           for (std::uint32_t i = 0; i < all.tensor_count; ++i) finish_torn(all, i);
                                         },
                                         sizeof(TornArguments)};

/// What all blocks do, each with shared memory of its own.
template <class Shared, void (*Do)(const MatrixArguments&, const Block&, Shared&)>
constexpr SimulatedKernel matrices_of{[](const void* argument, unsigned blocks, unsigned) {
                                        each_block(blocks, [&](const Block& block) {
                                          Shared shared;
                                          Do(*static_cast<const MatrixArguments*>(argument), block, shared);
                                        });
                                      },
                                      sizeof(MatrixArguments)};

struct NothingShared {};
void dequantising_tiles(const MatrixArguments& all, const Block& block, NothingShared&) {
  dequantise_tiles(all, block);
}

}  // namespace

Kernel observe_kernel(Dtype only) {
  return only == Dtype::bf16 ? &pass_of<For<Observe, Dtype::bf16>> : &pass_of<ForAll<Observe>>;
}
Kernel unscale_kernel(Dtype only) {
  return only == Dtype::f32 ? &pass_of<For<Unscale, Dtype::f32>> : &pass_of<ForWritable<Unscale>>;
}
Kernel rewrite_kernel(Dtype only) {
  return only == Dtype::f16 ? &pass_of<For<Rewrite, Dtype::f16>> : &pass_of<ForWritable<Rewrite>>;
}
Kernel write_kernel() {
  return &pass_of<ForWritable<Write>>;
}
Kernel fold_kernel() {
  return &fold;
}
Kernel bind_kernel() {
  return &bind;
}
Kernel command_kernel() {
  return &obeying;
}
Kernel slots_kernel() {
  return &step;
}
Kernel quantise_kernel() {
  return &quantising;
}
Kernel dequantise_kernel() {
  return &dequantising;
}
Kernel rank_numbers_kernel() {
  return &telling_ranks;
}
Kernel rank_sums_kernel() {
  return &adding_ranks;
}
Kernel torn_kernel() {
  return &torn;
}
Kernel finish_torn_kernel() {
  return &finishing_torn;
}
Kernel look_kernel() {
  return &looking;
}
Kernel finish_look_kernel() {
  return &finishing;
}
Kernel matrix_scales_kernel() {
  return &matrices_of<AmaxShared, amax_block>;
}
Kernel quantise_matrices_kernel(fp8::Scaling scaling, Dtype dtype) {
  Kernel kernel = nullptr;
  fp8::with_scaling(scaling, [&](auto one) {
    with_element(
        dtype, [&](auto element) { kernel = &matrices_of<TileShared, quantise_tiles<one.value, decltype(element)>>; });
  });
  return kernel;
}
Kernel dequantise_matrices_kernel() {
  return &matrices_of<NothingShared, dequantising_tiles>;
}

}  // namespace tare::kernels::cuda

namespace tare::kernels::test {
namespace {

const cuda::SimulatedKernel& kernel_at(const void* kernel) {
  return *static_cast<const cuda::SimulatedKernel*>(kernel);
}

}  // namespace

bool interprets() {
  return false;
}

std::size_t argument_size(const void* kernel) {
  return kernel_at(kernel).argument_size;
}
void run_kernel(const void* kernel, const void* argument, unsigned blocks, unsigned threads) {
  kernel_at(kernel).run(argument, blocks, threads);
}
void memory_is_made(const void*, std::size_t) {}
void memory_goes(const void*) {}

}  // namespace tare::kernels::test
