// The kernels as PTX that nvcc made, instead of the host's compilation of their code: the modules
// TARE_PTX/NAME.ARCH.ptx of PTX_ARCH (90 if it is not set), or those in the folder PTX_FOLDER.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/dequantise.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/look.hpp"
#include "kernels/cuda/matrices.hpp"
#include "kernels/cuda/rank_numbers.hpp"
#include "kernels/cuda/rank_sums.hpp"
#include "kernels/cuda/small_kernels.hpp"
#include "kernels/cuda/torn.hpp"
#include "tests/gpu/ptx/machine.hpp"
#include "tests/gpu/simulated/machine.hpp"

namespace tare::kernels::ptx {
namespace {

std::string environment_or(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

const std::vector<std::unique_ptr<Kernel>>& kernels() {
  static const auto all = [] {
    const std::string folder = environment_or("PTX_FOLDER", TARE_PTX);
    std::vector<std::unique_ptr<Kernel>> read;
    for (const char* module : {"observe", "unscale", "rewrite", "write", "small_kernels", "fp8_kernels", "rank_kernels",
                               "look", "torn", "matrix_kernels"}) {
      for (auto& kernel : read_module(folder + "/" + module + "." + environment_or("PTX_ARCH", "90") + ".ptx")) {
        read.push_back(std::move(kernel));
      }
    }
    return read;
  }();
  return all;
}

/// The one whose mangled name has all these parts, and whose parameter is an Arguments.
template <class Arguments>
cuda::Kernel find(const std::vector<std::string>& parts) {
  const Kernel* found = nullptr;
  for (const auto& kernel : kernels()) {
    const bool fits = std::ranges::all_of(
        parts, [&](const std::string& part) { return kernel->name.find(part) != std::string::npos; });
    if (fits && found != nullptr) refuse("two kernels have " + parts.back() + " in their names");
    if (fits) found = kernel.get();
  }
  if (found == nullptr) refuse("no kernel has " + parts.back() + " in its name");
  if (found->params != sizeof(Arguments)) {
    refuse(found->name + " takes " + std::to_string(found->params) + " bytes, the host says " +
           std::to_string(sizeof(Arguments)));
  }
  return found;
}

/// A pass for one dtype, or for all that `several` names the beginning of.
cuda::Kernel find_pass(const char* program, Dtype only, const char* several) {
  const bool is_one = only == Dtype::f32 || only == Dtype::f16 || only == Dtype::bf16;
  const std::string one = "JLNS_5DtypeE" + std::to_string(static_cast<int>(only)) + "EEE";
  return find<cuda::PassArguments>({"pass_kernel", program, is_one ? one : several});
}

}  // namespace
}  // namespace tare::kernels::ptx

namespace tare::kernels::cuda {

using ptx::find;
using ptx::find_pass;

Kernel observe_kernel(Dtype only) {
  return find_pass("ObserveE", only, "JLNS_5DtypeE1ELS5_2");
}
Kernel unscale_kernel(Dtype only) {
  return find_pass("UnscaleE", only, "JLNS_5DtypeE1ELS5_2");
}
Kernel rewrite_kernel(Dtype only) {
  return find_pass("RewriteE", only, "JLNS_5DtypeE1ELS5_2");
}
Kernel write_kernel() {
  return find_pass("WriteE", Dtype{0}, "JLNS");
}
Kernel fold_kernel() {
  return find<EachArguments>({"fold_each_tensor"});
}
Kernel bind_kernel() {
  return find<BindArguments>({"bind_addresses"});
}
Kernel command_kernel() {
  return find<CommandArguments>({"obey_command"});
}
Kernel slots_kernel() {
  return find<fp8::Slots>({"step_all_slots"});
}
Kernel quantise_kernel() {
  return find<QuantiseArguments>({"8quantiseE"});
}
Kernel dequantise_kernel() {
  return find<DequantiseArguments>({"10dequantiseE"});
}
Kernel rank_numbers_kernel() {
  return find<RankNumbersArguments>({"tell_ranks_numbers"});
}
Kernel rank_sums_kernel() {
  return find<RankSumsArguments>({"add_ranks"});
}
Kernel torn_kernel() {
  return find<TornArguments>({"look_at_torn_pieces"});
}
Kernel finish_torn_kernel() {
  return find<TornArguments>({"finish_torn_tensors"});
}
Kernel look_kernel() {
  return find<LookArguments>({"look_at_pieces"});
}
Kernel finish_look_kernel() {
  return find<LookArguments>({"finish_looks"});
}
Kernel matrix_scales_kernel() {
  return find<MatrixArguments>({"find_matrix_scales"});
}
Kernel quantise_matrices_kernel(fp8::Scaling scaling, Dtype dtype) {
  const std::string of = "ScalingE" + std::to_string(static_cast<int>(scaling)) + "ELNS";
  return find<MatrixArguments>({"17quantise_matrices", of, "DtypeE" + std::to_string(static_cast<int>(dtype)) + "EE"});
}
Kernel dequantise_matrices_kernel() {
  return find<MatrixArguments>({"19dequantise_matrices"});
}

}  // namespace tare::kernels::cuda

namespace tare::kernels::test {

bool interprets() {
  return true;
}

std::size_t argument_size(const void* kernel) {
  return static_cast<const ptx::Kernel*>(kernel)->params;
}

void run_kernel(const void* kernel, const void* argument, unsigned blocks, unsigned threads) {
  auto& found = *const_cast<ptx::Kernel*>(static_cast<const ptx::Kernel*>(kernel));
  ptx::Machine(found, static_cast<const unsigned char*>(argument), blocks, threads).run();
  if (ptx::faults() != 0) throw std::runtime_error("ptx: a kernel has faults");
}

void memory_is_made(const void* data, std::size_t size) {
  ptx::device_memory().add(data, size);
}
void memory_goes(const void* data) {
  ptx::device_memory().remove(data);
}

}  // namespace tare::kernels::test
