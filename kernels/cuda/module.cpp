// libtare_cuda.so: the table, with everything that can be thrown caught at its edge.
#include <cstring>
#include <new>

#include "kernels/cuda/fp8.hpp"
#include "kernels/cuda/list.hpp"
#include "kernels/cuda/table.h"

struct tare_cuda_scaler {
  tare_cuda_scaler(int device, const tare::rule::RunningState& running) : scaler(device, running) {}
  tare::kernels::cuda::DeviceScaler scaler;
};

struct tare_cuda_list {
  explicit tare_cuda_list(tare::kernels::cuda::DeviceScaler& scaler) : list(scaler) {}
  tare::kernels::cuda::DeviceList list;
};

struct tare_cuda_slots {
  tare_cuda_slots(int device, const tare::kernels::fp8::Slots& like) : slots(device, like) {}
  tare::kernels::cuda::DeviceSlots slots;
};

struct tare_cuda_casts {
  explicit tare_cuda_casts(tare::kernels::cuda::DeviceSlots& slots) : list(slots) {}
  tare::kernels::cuda::CastList list;
};

namespace tare::kernels::cuda {
namespace {

// Statuses as tare.h numbers them.
constexpr std::int32_t kDone = 0;
constexpr std::int32_t kOutOfMemory = 3;
constexpr std::int32_t kBackend = 20;
constexpr std::int32_t kInternal = 90;

static_assert(static_cast<int>(Command::report) == TARE_CUDA_REPORT);
static_assert(static_cast<int>(Command::step) == TARE_CUDA_STEP);
static_assert(static_cast<int>(Command::put_scale) == TARE_CUDA_PUT_SCALE);
static_assert(static_cast<int>(Command::take_over) == TARE_CUDA_TAKE_OVER);
static_assert(static_cast<int>(Command::report_layer) == TARE_CUDA_REPORT_LAYER);
static_assert(static_cast<int>(Command::follow_reduced) == TARE_CUDA_FOLLOW_REDUCED);
static_assert(static_cast<int>(Pass::observe) == TARE_CUDA_OBSERVE);
static_assert(static_cast<int>(Pass::unscale) == TARE_CUDA_UNSCALE);
static_assert(static_cast<int>(Pass::write) == TARE_CUDA_WRITE);

std::int32_t fail(tare_cuda_error* error, std::int32_t status, int detail, const char* message) {
  error->status = status;
  error->detail = detail;
  std::strncpy(error->message, message, sizeof error->message - 1);
  error->message[sizeof error->message - 1] = '\0';
  return status;
}

template <class Body>
std::int32_t guarded(tare_cuda_error* error, const Body& body) {
  try {
    body();
    return kDone;
  } catch (const Failure& failure) {
    return fail(error, failure.code == cudaErrorMemoryAllocation ? kOutOfMemory : kBackend, failure.code,
                failure.what());
  } catch (const std::bad_alloc&) {
    return fail(error, kOutOfMemory, 0, "out of memory");
  } catch (const std::length_error&) {
    return fail(error, kOutOfMemory, 0, "out of memory: a size beyond the address space");
  } catch (const std::exception& failure) {
    return fail(error, kInternal, 0, failure.what());
  }
}

/// Ends something on its own device, and keeps quiet: there is nobody left to tell.
template <class Thing>
void end(Thing* thing, int device) {
  tare_cuda_error ignored;
  guarded(&ignored, [&] {
    const OnDevice here(device);
    delete thing;
  });
}

std::span<const Tensor> span_of(const void* tensors, std::uint64_t count) {
  return {static_cast<const Tensor*>(tensors), static_cast<std::size_t>(count)};
}

cudaStream_t stream_of(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

std::int32_t scaler_make(tare_cuda_scaler** out, std::int32_t device, const void* running, tare_cuda_error* error) {
  return guarded(error, [&] { *out = new tare_cuda_scaler(device, *static_cast<const rule::RunningState*>(running)); });
}

void scaler_end(tare_cuda_scaler* scaler) {
  end(scaler, scaler->scaler.device().ordinal());
}

void* scaler_core(const tare_cuda_scaler* scaler) {
  return scaler->scaler.core();
}

std::int32_t scaler_do(tare_cuda_scaler* scaler, const tare_cuda_command* command, void* stream,
                       tare_cuda_error* error) {
  return guarded(error, [&] {
    if (command->what == TARE_CUDA_FOLLOW_REDUCED) return scaler->scaler.follow_reduced(stream_of(stream));
    CommandArguments asked;
    asked.command = static_cast<Command>(command->what);
    asked.overflow = command->overflow;
    asked.scale = command->scale;
    if (command->running != nullptr) asked.running = *static_cast<const rule::RunningState*>(command->running);
    if (command->layer != nullptr) asked.layer = *static_cast<const rule::LayerStatistics*>(command->layer);
    scaler->scaler.obey(asked, stream_of(stream));
  });
}

std::int32_t scaler_read(const tare_cuda_scaler* scaler, void* core, void* stream, tare_cuda_error* error) {
  return guarded(error, [&] { *static_cast<ScalerCore*>(core) = scaler->scaler.read(stream_of(stream)); });
}

std::int32_t list_make(tare_cuda_list** out, tare_cuda_scaler* scaler, tare_cuda_error* error) {
  return guarded(error, [&] { *out = new tare_cuda_list(scaler->scaler); });
}

void list_end(tare_cuda_list* list) {
  end(list, list->list.device());
}

void* list_core(const tare_cuda_list* list) {
  return list->list.core();
}

std::int32_t list_assign(tare_cuda_list* list, const void* tensors, std::uint64_t count, tare_cuda_error* error) {
  return guarded(error, [&] { list->list.assign(span_of(tensors, count)); });
}

std::int32_t list_rebind(tare_cuda_list* list, const void* tensors, std::uint64_t count, std::int32_t* same,
                         tare_cuda_error* error) {
  return guarded(error, [&] { *same = list->list.rebind(span_of(tensors, count)) ? 1 : 0; });
}

std::int32_t list_is_captured(const tare_cuda_list* list) {
  return list->list.is_captured() ? 1 : 0;
}

std::int32_t list_pass(tare_cuda_list* list, const tare_cuda_pass* pass, void* stream, tare_cuda_error* error) {
  return guarded(error, [&] {
    PassRequest request;
    request.pass = static_cast<Pass>(pass->what);
    request.unscales = pass->unscales != 0;
    request.steps = pass->steps != 0;
    request.limit = pass->limit;
    request.clip_norm = pass->clip_norm;
    request.threshold = pass->threshold;
    request.outputs = static_cast<const Tensor*>(pass->outputs);
    list->list.run(request, stream_of(stream));
  });
}

std::int32_t list_read(const tare_cuda_list* list, void* core, void* each, void* stream, tare_cuda_error* error) {
  return guarded(error, [&] {
    *static_cast<ListCore*>(core) = list->list.read(static_cast<Statistics*>(each), stream_of(stream));
  });
}

const fp8::Slots& arrays_of(const void* slots) {
  return *static_cast<const fp8::Slots*>(slots);
}

std::int32_t slots_make(tare_cuda_slots** out, std::int32_t device, const void* like, tare_cuda_error* error) {
  return guarded(error, [&] { *out = new tare_cuda_slots(device, arrays_of(like)); });
}

void slots_end(tare_cuda_slots* slots) {
  end(slots, slots->slots.device().ordinal());
}

const void* slots_arrays(const tare_cuda_slots* slots) {
  return &slots->slots.slots();
}

std::int32_t slots_step(tare_cuda_slots* slots, void* stream, tare_cuda_error* error) {
  return guarded(error, [&] { slots->slots.step(stream_of(stream)); });
}

std::int32_t slots_read(const tare_cuda_slots* slots, const void* into, void* stream, tare_cuda_error* error) {
  return guarded(error, [&] { slots->slots.read(arrays_of(into), stream_of(stream)); });
}

std::int32_t slots_write(tare_cuda_slots* slots, const void* from, void* stream, tare_cuda_error* error) {
  return guarded(error, [&] { slots->slots.write(arrays_of(from), stream_of(stream)); });
}

std::int32_t casts_make(tare_cuda_casts** out, tare_cuda_slots* slots, tare_cuda_error* error) {
  return guarded(error, [&] { *out = new tare_cuda_casts(slots->slots); });
}

void casts_end(tare_cuda_casts* casts) {
  end(casts, casts->list.device().ordinal());
}

std::int32_t casts_assign(tare_cuda_casts* casts, const void* tensors, const std::uint32_t* slots, std::uint64_t count,
                          tare_cuda_error* error) {
  return guarded(error, [&] { casts->list.assign(span_of(tensors, count), slots); });
}

std::int32_t casts_rebind(tare_cuda_casts* casts, const void* tensors, const std::uint32_t* slots, std::uint64_t count,
                          std::int32_t* same, tare_cuda_error* error) {
  return guarded(error, [&] { *same = casts->list.rebind(span_of(tensors, count), slots) ? 1 : 0; });
}

std::int32_t casts_are_captured(const tare_cuda_casts* casts) {
  return casts->list.is_captured() ? 1 : 0;
}

std::int32_t casts_run(tare_cuda_casts* casts, std::int32_t what, const void* outputs, void* stream,
                       tare_cuda_error* error) {
  return guarded(error, [&] {
    const auto* to = static_cast<const Tensor*>(outputs);
    switch (what) {
      case TARE_CUDA_NOTE:
        return casts->list.observe(stream_of(stream));
      case TARE_CUDA_QUANTISE:
        return casts->list.quantise(to, stream_of(stream));
      case TARE_CUDA_DEQUANTISE:
        return casts->list.dequantise(to, stream_of(stream));
    }
    throw std::logic_error("no such cast");
  });
}

constexpr tare_cuda_table table{sizeof(tare_cuda_table),
                                TARE_RELEASE,
                                scaler_make,
                                scaler_end,
                                scaler_core,
                                scaler_do,
                                scaler_read,
                                list_make,
                                list_end,
                                list_core,
                                list_assign,
                                list_rebind,
                                list_is_captured,
                                list_pass,
                                list_read,
                                slots_make,
                                slots_end,
                                slots_arrays,
                                slots_step,
                                slots_read,
                                slots_write,
                                casts_make,
                                casts_end,
                                casts_assign,
                                casts_rebind,
                                casts_are_captured,
                                casts_run};

}  // namespace
}  // namespace tare::kernels::cuda

extern "C" __attribute__((visibility("default"))) const tare_cuda_table* tare_cuda_module() {
  return &tare::kernels::cuda::table;
}
