// The CPU backend against torch's own results of unscaling.
#include "tests/unit/cpu/torch_unscale.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

TEST_CASE("unscaling in place gives torch's bits and torch's found_inf on every instruction set") {
  const std::vector<UnscaleVector> vectors = torch_unscale();
  for (const auto set : available_sets()) {
    cpu::CpuBackend backend(1, set);
    const auto list = backend.make_list();
    for (const UnscaleVector& vector : vectors) {
      INFO(cpu::name_of(set) << ", " << vector.words);
      Array values = vector.in;
      const Tensor tensor = values.tensor();
      float found_inf = vector.found_inf_before;
      list->assign(&tensor, 1, nullptr);
      list->unscale(&vector.inverse_scale, {.found_inf = &found_inf}, nullptr);
      CHECK(values == vector.out);
      CHECK(found_inf == vector.found_inf);
    }
  }
}

TEST_CASE("unscaling torch's vectors into another array gives the same bits and leaves the input alone") {
  const std::vector<UnscaleVector> vectors = torch_unscale();
  for (const auto set : available_sets()) {
    cpu::CpuBackend backend(1, set);
    const auto list = backend.make_list();
    for (const UnscaleVector& vector : vectors) {
      INFO(cpu::name_of(set) << ", " << vector.words);
      Array values = vector.in;
      Array written(values.dtype(), values.count());
      const Tensor tensor = values.tensor();
      const Tensor output = written.tensor();
      list->assign(&tensor, 1, nullptr);
      list->write(&output, {.inverse_scale = &vector.inverse_scale}, {}, nullptr);
      CHECK(values == vector.in);
      CHECK(written == vector.out);
    }
  }
}
