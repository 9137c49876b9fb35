#include "lib/scaler/fp8_scaler.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/device/device_memory.hpp"
#include "lib/scaler/fp8_slots.hpp"
#include "lib/scaler/fp8_statistics.hpp"
#include "lib/scaler/lists.hpp"

namespace tare {
namespace {

/// Inputs, weights and gradients of a step, each observed, cast and cast back.
constexpr std::size_t most_casts = 16;

using kernels::Tensor;
using kernels::fp8::Slots;

bool is_fp8(Dtype dtype) {
  return size_of(dtype) == 1;
}

[[noreturn]] void refuse(Status status, const char* what, std::size_t index, const std::string& defect) {
  throw Error(status, std::string(what) + " " + std::to_string(index) + " " + defect);
}

void require_wide(const tare_backend_table& backend, std::span<const Tensor> tensors, const char* what) {
  require_readable(backend, tensors, what);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Dtype dtype = tensors[i].dtype;
    if (dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16) continue;
    refuse(Status::unsupported, what, i, std::string("is ") + name_of(dtype) + "; f32, f16 and bf16 are cast to fp8");
  }
}

/// fp8, each in its slot's format.
void require_narrow(const tare_backend_table& backend, std::span<const Tensor> tensors, const char* what, SlotsOf slots,
                    const std::vector<Dtype>& formats) {
  require_readable(backend, tensors, what);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Dtype format = formats[slots[i]];
    if (tensors[i].dtype == format) continue;
    const std::string is = std::string("is ") + name_of(tensors[i].dtype);
    refuse(is_fp8(tensors[i].dtype) ? Status::mismatch : Status::unsupported, what, i,
           is + ", its slot " + std::to_string(slots[i]) + " is of " + name_of(format));
  }
}

/// A GPU's kernels write and read fp8 alone.
void require_fp8(std::span<const Tensor> tensors, const char* what) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_fp8(tensors[i].dtype)) continue;
    throw Error(Status::unsupported,
                std::string(what) + " " + std::to_string(i) + ": slots of format \"" + name_of(tensors[i].dtype) +
                    "\" are not cast on a GPU",
                "Multiply by the slot's scale (tare_fp8_scale_pointer) and cast, or keep the slots on the CPU.");
  }
}

void require_same_counts(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  if (inputs.size() != outputs.size()) {
    throw Error(Status::invalid_argument,
                std::to_string(outputs.size()) + " outputs for " + std::to_string(inputs.size()) + " inputs");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].count != outputs[i].count) {
      refuse(Status::invalid_argument, "output", i, "has another number of elements than its input");
    }
  }
}

}  // namespace

Fp8Scaler::Fp8Scaler(Fp8Config&& config)
    : set_(std::move(config.start)),
      each_its_own_(set_.count()),
      device_(config.cuda_device),
      backend_(config.cuda_device >= 0 ? cuda_backend() : cpu_backend()),
      slots_(made_by(backend_, backend_.slots_make,
                     config.cuda_device >= 0 ? config.cuda_device : static_cast<std::int32_t>(config.threads),
                     &host_slots_of(set_)->arrays())),
      casts_(most_casts) {
  look_for_cuda_driver();
  std::iota(each_its_own_.begin(), each_its_own_.end(), 0u);
}

const Slots& Fp8Scaler::arrays() const {
  return *static_cast<const Slots*>(backend_.slots_arrays(slots_.get()));
}

tare_backend_casts* Fp8Scaler::casts_of(std::span<const Tensor> tensors, SlotsOf slots) {
  return casts_.find(
      [&](tare_backend_casts* casts) {
        std::int32_t same = 0;
        call(backend_.casts_rebind, casts, tensors.data(), slots.data(), tensors.size(), &same);
        return same != 0;
      },
      [&](const tare_backend_casts* casts) { return backend_.casts_are_captured(casts) != 0; },
      [&] { return made_by(backend_, backend_.casts_make, slots_.get()); },
      [&](tare_backend_casts* casts) {
        call(backend_.casts_assign, casts, tensors.data(), slots.data(), tensors.size());
      });
}

void Fp8Scaler::run(std::int32_t what, std::span<const Tensor> inputs, const Tensor* outputs, SlotsOf slots,
                    kernels::Stream stream) {
  if (backend_.slots_cast != nullptr) {
    call(backend_.slots_cast, slots_.get(), what, inputs.data(), slots.data(), inputs.size(), outputs);
  } else {
    call(backend_.casts_run, casts_of(inputs, slots), what, outputs, stream);
  }
}

void Fp8Scaler::set_communicator(std::shared_ptr<Communicator> communicator) {
  std::unique_ptr<Fp8Reduction> reduction;
  if (communicator) {
    communicator->require_device(device_);
    reduction = std::make_unique<Fp8Reduction>(std::move(communicator), set_);
  }
  if (backend_.slots_join == nullptr) {
    if (reduction) reduction->require_alike();
  } else if (reduction) {
    reduction->require_alike(backend_, slots_.get());
  } else {
    call(backend_.slots_join, slots_.get(), nullptr, nullptr);
  }
  device_sums_ =
      reduction && device_ >= 0 ? std::make_unique<Fp8DeviceSums>(backend_, slots_.get(), *reduction) : nullptr;
  all_reduce_ = reduction ? std::make_unique<Fp8AllReduce>(reduction->communicator()) : nullptr;
  reduction_ = std::move(reduction);
}

void Fp8Scaler::all_reduce(std::span<const Tensor> gradients, const std::uint32_t* slots,
                           const AllReduceOptions& options, kernels::Stream stream) {
  const SlotsOf slots_of = checked(slots, gradients.size());
  require_wide(backend_, gradients, "gradient");
  if (!all_reduce_) {
    throw Error(Status::refused, "the slots have no comm: there is nobody to sum gradients with",
                "Call tare_fp8_set_comm first, on all ranks.");
  }
  for (const std::uint32_t slot : slots_of) {
    if (is_fp8(set_.formats[slot])) continue;
    throw Error(
        Status::unsupported,
        "slot " + std::to_string(slot) + " is of " + name_of(set_.formats[slot]) + ", and gradients are summed in fp8",
        "Give the gradients slots of e4m3 or e5m2.");
  }
  const GradientList list{gradients, slots_of, set_.formats};
  if (device_sums_) return device_sums_->run(list, options, stream);
  all_reduce_->run(arrays(), list, options);
}

void Fp8Scaler::update(kernels::Stream stream) {
  if (reduction_ && backend_.slots_join == nullptr) reduction_->join(arrays());
  call(backend_.slots_step, slots_.get(), stream);
}

std::uint32_t Fp8Scaler::slot_of(std::string_view name) const {
  const auto found = std::ranges::find(set_.names, name);
  if (found == set_.names.end()) {
    throw Error(
        Status::mismatch, "no slot is called \"" + escaped(name) + "\"",
        set_.names.empty() ? "These slots have no names." : "\"slots\" of tare_fp8_statistics has their names.");
  }
  if (std::find(found + 1, set_.names.end(), name) != set_.names.end()) {
    throw Error(Status::mismatch, "several slots are called \"" + escaped(name) + "\"", "Go by their numbers.");
  }
  return static_cast<std::uint32_t>(found - set_.names.begin());
}

const float* Fp8Scaler::pointer(Fp8Shown which) const {
  const Slots& slots = arrays();
  const bool divides = kernels::fp8::divides(slots.params.rule);
  if (which == Fp8Shown::scale) return divides ? slots.inverse : slots.scale;
  if (which == Fp8Shown::scale_inv) return divides ? slots.scale : slots.inverse;
  throw Error(Status::invalid_argument, "there is no pointer " + std::to_string(static_cast<std::int32_t>(which)),
              "1 or 2, see TARE_FP8_SCALE.");
}

Accumulators Fp8Scaler::accumulators() const {
  return {arrays().amax, count() * sizeof(float)};
}

SlotsOf Fp8Scaler::checked(const std::uint32_t* slots, std::size_t tensors) const {
  if (slots == nullptr) {
    if (tensors <= each_its_own_.size()) return SlotsOf(each_its_own_).first(tensors);
    throw Error(Status::invalid_argument,
                std::to_string(tensors) + " tensors for " + std::to_string(count()) + " slots",
                "Say which slot each has.");
  }
  const SlotsOf given(slots, tensors);
  const auto beyond = std::ranges::find_if(given, [&](std::uint32_t slot) { return slot >= count(); });
  if (beyond == given.end()) return given;
  throw Error(Status::invalid_argument, "tensor " + std::to_string(beyond - given.begin()) + " has slot " +
                                            std::to_string(*beyond) + ", there are " + std::to_string(count()));
}

void Fp8Scaler::require_quantisable(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                    SlotsOf slots) const {
  require_wide(backend_, inputs, "tensor");
  require_same_counts(inputs, outputs);
  require_narrow(backend_, outputs, "output", slots, set_.formats);
  if (&backend_ != &cpu_backend()) require_fp8(outputs, "output");
}

void Fp8Scaler::require_dequantisable(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                      SlotsOf slots) const {
  require_narrow(backend_, inputs, "tensor", slots, set_.formats);
  if (&backend_ != &cpu_backend()) require_fp8(inputs, "tensor");
  require_same_counts(inputs, outputs);
  require_wide(backend_, outputs, "output");
}

void Fp8Scaler::observe(std::span<const Tensor> tensors, const std::uint32_t* slots, kernels::Stream stream) {
  const SlotsOf of = checked(slots, tensors.size());
  require_wide(backend_, tensors, "tensor");
  run(TARE_BACKEND_NOTE, tensors, nullptr, of, stream);
}

void Fp8Scaler::quantise(std::span<const Tensor> inputs, std::span<const Tensor> outputs, const std::uint32_t* slots,
                         kernels::Stream stream) {
  const SlotsOf of = checked(slots, inputs.size());
  require_quantisable(inputs, outputs, of);
  run(TARE_BACKEND_QUANTISE, inputs, outputs.data(), of, stream);
}

void Fp8Scaler::dequantise(std::span<const Tensor> inputs, std::span<const Tensor> outputs, const std::uint32_t* slots,
                           kernels::Stream stream) {
  const SlotsOf of = checked(slots, inputs.size());
  require_dequantisable(inputs, outputs, of);
  run(TARE_BACKEND_DEQUANTISE, inputs, outputs.data(), of, stream);
}

Fp8Set Fp8Scaler::now(kernels::Stream stream) const {
  Fp8Set set = set_;
  const auto host = host_slots_of(set);
  call(backend_.slots_read, slots_.get(), &host->arrays(), stream);
  read_back(set, *host);
  return set;
}

std::string Fp8Scaler::statistics(kernels::Stream stream) const {
  return statistics_json(now(stream));
}

ScalerState Fp8Scaler::save(kernels::Stream stream) const {
  return to_state(now(stream));
}

void Fp8Scaler::load(const ScalerState& state, kernels::Stream stream) {
  Fp8Set loaded = set_;
  load_into(loaded, state);
  const auto host = host_slots_of(loaded);
  call(backend_.slots_write, slots_.get(), &host->arrays(), stream);
  set_ = std::move(loaded);
  if (device_sums_) device_sums_->forget();
}

std::unique_ptr<Fp8Casts> Fp8Scaler::make_casts(std::span<const Tensor> inputs, const std::uint32_t* slots) {
  const SlotsOf of = checked(slots, inputs.size());
  look_for_cuda_driver();
  require_readable(backend_, inputs, "tensor");
  return std::make_unique<Fp8Casts>(*this, inputs, of);
}

Fp8Casts::Fp8Casts(Fp8Scaler& scaler, std::span<const Tensor> inputs, SlotsOf slots)
    : scaler_(scaler),
      inputs_(inputs.begin(), inputs.end()),
      slots_(slots.begin(), slots.end()),
      casts_(made_by(scaler.backend_, scaler.backend_.casts_make, scaler.slots_.get())) {
  call(scaler_.backend_.casts_assign, casts_.get(), inputs_.data(), slots_.data(), inputs_.size());
}

void Fp8Casts::rebind(std::span<const Tensor> inputs) {
  require_readable(scaler_.backend_, inputs, "tensor");
  std::int32_t same = 0;
  if (inputs.size() == inputs_.size()) {
    call(scaler_.backend_.casts_rebind, casts_.get(), inputs.data(), slots_.data(), inputs.size(), &same);
  }
  if (same == 0) refuse_other_shape();
  std::ranges::copy(inputs, inputs_.begin());
}

void Fp8Casts::run(std::int32_t what, const Tensor* outputs, kernels::Stream stream) {
  call(scaler_.backend_.casts_run, casts_.get(), what, outputs, stream);
}

void Fp8Casts::observe(kernels::Stream stream) {
  require_wide(scaler_.backend_, inputs_, "tensor");
  run(TARE_BACKEND_NOTE, nullptr, stream);
}

void Fp8Casts::quantise(std::span<const Tensor> outputs, kernels::Stream stream) {
  scaler_.require_quantisable(inputs_, outputs, slots_);
  run(TARE_BACKEND_QUANTISE, outputs.data(), stream);
}

void Fp8Casts::dequantise(std::span<const Tensor> outputs, kernels::Stream stream) {
  scaler_.require_dequantisable(inputs_, outputs, slots_);
  run(TARE_BACKEND_DEQUANTISE, outputs.data(), stream);
}

std::unique_ptr<Fp8Scaler> make_fp8_scaler(Fp8Config&& config) {
  return std::make_unique<Fp8Scaler>(std::move(config));
}

}  // namespace tare
