#include "lib/scaler/lists.hpp"

#include <string>

#include "lib/base/error.hpp"
#include "lib/device/backend.hpp"
#include "lib/device/device_memory.hpp"

namespace tare {
namespace {

[[noreturn]] void refuse(const kernels::DefectAt& at, const char* what) {
  const bool unsupported = at.defect == kernels::Defect::unsupported_dtype;
  throw Error(unsupported ? Status::unsupported : Status::invalid_argument,
              std::string(what) + " " + std::to_string(at.index) + " " + kernels::describe(at.defect));
}

void require_zero_reserved(std::span<const kernels::Tensor> tensors, const char* what) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].reserved == 0) continue;
    throw Error(Status::invalid_argument,
                std::string(what) + " " + std::to_string(i) + " has a reserved field that is not 0");
  }
}

void require_reachable(const tare_backend_table& backend, std::span<const kernels::Tensor> tensors, const char* what) {
  if (&backend != &cpu_backend()) return;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].count == 0 || !is_device_memory(tensors[i].data)) continue;
    throw Error(Status::invalid_argument,
                std::string(what) + " " + std::to_string(i) + " is memory of a GPU, and this computes on the CPU",
                "Give host memory, or make it with \"device\":\"cuda:0\".");
  }
}

}  // namespace

void require_usable(const tare_backend_table& backend, std::span<const kernels::Tensor> tensors, kernels::Use use) {
  require_zero_reserved(tensors, "tensor");
  if (const auto defect = kernels::find_defect(tensors, use)) refuse(*defect, "tensor");
  require_reachable(backend, tensors, "tensor");
}

void require_readable(const tare_backend_table& backend, std::span<const kernels::Tensor> tensors, const char* what) {
  require_zero_reserved(tensors, what);
  if (const auto defect = kernels::find_defect(tensors, kernels::Use::read)) refuse(*defect, what);
  require_reachable(backend, tensors, what);
}

void require_fitting(const tare_backend_table& backend, std::span<const kernels::Tensor> inputs,
                     std::span<const kernels::Tensor> outputs) {
  require_zero_reserved(outputs, "output");
  if (const auto defect = kernels::find_output_defect(inputs, outputs)) refuse(*defect, "output");
  require_reachable(backend, outputs, "output");
}

void refuse_other_shape() {
  throw Error(Status::mismatch, "the tensors are not of the counts and dtypes that the list was made with",
              "Make another list.");
}

}  // namespace tare
