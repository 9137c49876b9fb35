// The GPU backend against torch's own results of unscaling: every bit, and found-inf.
#include "tests/gpu/gpu.hpp"
#include "tests/unit/cpu/torch_unscale.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

TEST_CASE("unscaling gives torch's bits and torch's found-inf, in place and into another array") {
  const GpuStream stream;
  cuda::DeviceScaler scaler(0, torch_at(1));
  cuda::DeviceList list(scaler);
  for (const UnscaleVector& vector : torch_unscale()) {
    INFO(vector.words);
    // Any number, not just what a scale has.
    upload(&scaler.core()->shown.inverse_scale, &vector.inverse_scale, sizeof vector.inverse_scale);
    std::vector<Array> values(1, vector.in);
    std::vector<Array> outputs(1, Array(vector.in.dtype(), vector.in.count()));
    std::vector<Array> expected(1, vector.out);
    const GpuArrays in(values);
    const GpuArrays out(outputs);
    const std::vector<Tensor> targets = out.tensors();
    list.assign(in.tensors());
    cuda::PassRequest write{.pass = cuda::Pass::write};
    write.outputs = targets.data();
    list.run(write, stream);
    stream.wait();
    CHECK(out.different_from(expected) == 0);
    CHECK(in.different_from(values) == 0);
    list.run({.pass = cuda::Pass::unscale}, stream);
    Statistics each;
    const ListCore core = list.read(&each, stream);
    CHECK(in.different_from(expected) == 0);
    if (vector.found_inf_before == 0) CHECK(core.shown.found_inf == vector.found_inf);
  }
}
