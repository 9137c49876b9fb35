// A GPU made of loops: the kernels' own code, one block after another in random order, over host memory.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cuda/arguments.hpp"

namespace tare::kernels::test {

/// A prepared list with all its tables, and launches of any number of blocks.
class SimulatedList : public TensorList {
 public:
  SimulatedList(std::mt19937_64& random, std::uint32_t blocks) : random_(random), blocks_(blocks) {}

  void assign(const Tensor* tensors, std::size_t count, Stream) override {
    work_.assign({tensors, count});
    sums_.assign(work_.pieces().size(), -1);  // what nobody may read, here and below
    counts_.assign(work_.pieces().size(), {~std::uint64_t{0}, ~0u, ~0u});
    block_counts_.assign(blocks_, {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}});
    bind(inputs_, tensors, count);
  }
  bool rebind(const Tensor* tensors, std::size_t count, Stream) override {
    if (!work_.rebind({tensors, count})) return false;
    bind(inputs_, tensors, count);
    return true;
  }
  void observe(const Findings& findings, Stream) override {
    cuda::PassArguments pass = arguments(findings);
    launch<cuda::ForAll<cuda::Observe>>(pass, findings);
  }
  void unscale(const float* inverse_scale, const Findings& findings, Stream) override {
    cuda::PassArguments pass = arguments(findings);
    pass.inverse_scale = inverse_scale;
    launch<cuda::ForWritable<cuda::Unscale>>(pass, findings);
  }
  void write(const Tensor* outputs, const Transform& transform, const Findings& findings, Stream) override {
    bind(outputs_, outputs, work_.tensors().size());
    cuda::PassArguments pass = arguments(findings);
    pass.outputs = outputs_.data();
    pass.inverse_scale = transform.inverse_scale;
    pass.coefficient = transform.coefficient;
    pass.limit = transform.limit;
    launch<cuda::ForWritable<cuda::Write>>(pass, findings);
  }

  /// A pass whose findings go to a scaler or a list of its own.
  template <class Program>
  void run(const cuda::PassEnd& end, double threshold) {
    cuda::PassArguments pass = arguments({.threshold = threshold});
    pass.end = end;
    if (end.scaler != nullptr) pass.inverse_scale = &end.scaler->shown.inverse_scale;
    launch<Program>(pass, {});
  }

  const WorkList& work() const { return work_; }

 private:
  static void bind(std::vector<cuda::Binding>& into, const Tensor* tensors, std::size_t count) {
    into.clear();
    for (std::size_t i = 0; i < count; ++i) into.push_back(cuda::binding_of(tensors[i]));
  }

  cuda::PassArguments arguments(const Findings& findings) {
    cuda::PassArguments pass = cuda::arguments_for(work_,
                                                   {.pieces = work_.pieces().data(),
                                                    .inputs = inputs_.data(),
                                                    .sums = sums_.data(),
                                                    .counts = counts_.data(),
                                                    .block_counts = block_counts_.data(),
                                                    .ticket = &ticket_,
                                                    .cursor = &cursor_},
                                                   findings.threshold);
    pass.end.found_inf = findings.found_inf;
    pass.end.total = findings.total;
    return pass;
  }

  template <class Items>
  void launch(const cuda::PassArguments& pass, const Findings& findings) {
    std::vector<std::uint32_t> order(blocks_);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::uint32_t block : order) {
      cuda::FoldShared shared;  // not initialised, as on the device
      cuda::run_block<Items>(pass, {block, blocks_}, shared);
    }
    if (findings.each == nullptr) return;
    for (std::size_t i = 0; i < work_.tensors().size(); ++i) {
      cuda::fold_tensor(sums_.data(), counts_.data(), work_.tensor_pieces()[i], findings.each[i]);
    }
  }

  std::mt19937_64& random_;
  std::uint32_t blocks_;
  WorkList work_;
  std::vector<cuda::Binding> inputs_;
  std::vector<cuda::Binding> outputs_;
  std::vector<double> sums_;
  std::vector<PieceCounts> counts_;
  std::vector<cuda::BlockCounts> block_counts_;
  std::uint32_t ticket_ = 0;
  std::uint32_t cursor_ = 0;
};

}  // namespace tare::kernels::test
